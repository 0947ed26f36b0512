/** The part of autocannon that the measurements use; the package has no types. */
declare module 'autocannon' {
  interface Result {
    readonly '2xx': number;
    readonly non2xx: number;
    readonly errors: number;
    /** In seconds. */
    readonly duration: number;
  }

  export default function autocannon(options: {
    readonly url: string;
    /** In seconds; an amount of requests would end at the next whole second. */
    readonly duration: number;
    readonly connections: number;
  }): Promise<Result>;
}
