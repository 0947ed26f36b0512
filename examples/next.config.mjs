export default {
  // Stowage starts worker threads from its own files, so it must not be bundled.
  serverExternalPackages: ['stowage'],
  // The editor asks /connector/; a redirect would make it send its uploads twice.
  skipTrailingSlashRedirect: true,
};
