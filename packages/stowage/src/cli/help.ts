/** What `stowage --help` prints. */
export const help = `stowage: a file browser and uploader connector for web editors

Usage:
  stowage init [--yes]
  stowage serve FOLDER [--host HOST] [--port PORT]
  stowage serve [--config FILE] [--host HOST] [--port PORT] [--health-port PORT]
  stowage check-config [--config FILE]
  stowage doctor [--config FILE] [--page-origin ORIGIN] [--url URL] [--form-size SIZE] [--json]
  stowage explain ROLE ACTION PATH [--config FILE]
  stowage thumbs SOURCE [FOLDER] [--config FILE]
  stowage --help
  stowage --version

Commands:
  init           Asks a few questions and writes stowage.json. With --yes it asks nothing. A file that is there
                 stays as it is.
  serve          Starts the service and runs until SIGTERM or SIGINT. Running requests may finish first,
                 for 30 seconds at most; a second signal ends the process immediately.
                 With FOLDER it needs no configuration: everybody who reaches it may read and write there,
                 and editors in pages of this machine (localhost) may use it.
  check-config   Checks the configuration, prints every problem, and starts nothing.
  doctor         Tries what the service will do: writes, lists, reads and removes a small file in every source,
                 reads it where browsers will, and looks at packages, rights, clocks, room and risky settings.
                 Each problem comes with a line that fixes it. Leaves nothing behind.
  explain        Says whether the access rules allow a role an action on a file, or on a folder when PATH ends
                 with a slash, and which rule decides: stowage explain editor fileRemove archive/a.jpg
  thumbs         Makes the missing thumbnails of a source, or of a folder in it and all below. Can be stopped
                 and run again.

Options:
  --config FILE  The configuration: a JSON file, or a module (.mjs, .js, .ts where Node.js runs TypeScript)
                 whose default export is the configuration or { config, hooks, logger }. Without it: the JSON
                 text in CONFIG, else the file named by CONFIG_FILE, else the defaults with one source from
                 SOURCE_NAME, SOURCE_ROOT, SOURCE_BASEURL.
  --host HOST    Address to listen on; else HOST, else 127.0.0.1 (this machine only). 0.0.0.0 or :: for all.
  --port PORT    Port to listen on; else PORT, else 8081. 0 takes any free port.
  --health-port PORT
                 Answers /live, /ready and /metrics on this port of the same address.
  --page-origin ORIGIN
                 Where the page with the editor comes from, such as https://www.example.com.
  --url URL      Where the service runs, as browsers see it: asks it through the proxies before it.
  --form-size SIZE
                 How large a form must get through these proxies, such as 100mb.
  --json         Prints what the doctor found as JSON.

Exit status: 0 fine, 1 the service cannot start, failed, or something is broken, 2 the command line is wrong,
130 stopped by Ctrl+C.
`;
