/**
 * For authors and users of storage adapters: the conformance suite of the storage port, and a store with
 * injected faults.
 * @module
 */
export type { StorePromises, StoreUnderTest } from './case.ts';
export {
  describeStorageConformance,
  storageConformance,
  type ConformanceCase,
  type ConformanceOptions,
  type SkippedCase,
  type TestFramework,
} from './conformance.ts';
export type { Fault, FaultyOperation } from './with-faults.ts';
export { withFaults, type FaultOptions, type OptionalOperation } from './with-faults.ts';
