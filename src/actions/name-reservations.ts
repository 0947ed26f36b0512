/**
 * Names that requests of this process are about to take, so that many uploads of one name do not all try the same
 * numbers. Only a courtesy that saves attempts: the store's create-only write decides. Bounded by the running requests.
 */
export interface NameReservations {
  /** Reserves the name in the folder for the caller; false when another request holds it. */
  reserve(folder: string, name: string): boolean;
  release(folder: string, name: string): void;
}
