export default { serverExternalPackages: ['stowage'] };
