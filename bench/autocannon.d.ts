/** The part of autocannon that the measurements use; the package has no types. */
declare module 'autocannon' {
  interface Result {
    readonly '2xx': number;
    readonly non2xx: number;
    readonly errors: number;
    readonly start: Date;
    readonly finish: Date;
  }

  export default function autocannon(options: {
    readonly url: string;
    readonly amount: number;
    readonly connections: number;
  }): Promise<Result>;
}
