/** For adapters: how a package that only some need is loaded at its first use. */
export { importOptional as loadOptional } from '../errors/optional-package.ts';
