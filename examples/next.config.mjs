export default {
  // Stowage starts threads from files of its own, so it stays outside of the bundle.
  serverExternalPackages: ['stowage'],
  // The editor asks /connector/; a redirect would make it send its uploads twice.
  skipTrailingSlashRedirect: true,
};
