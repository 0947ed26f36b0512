export default {
  // Stowage starts worker threads from its own files, so it must not be bundled.
  serverExternalPackages: ['stowage'],
  // The editor requests /connector/; after a redirect it would send its uploads twice.
  skipTrailingSlashRedirect: true,
};
