/** Environment variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable's text; one that is set to nothing counts as not set. */
export const variable = (environment: Environment, name: string): string | undefined => {
  const text = environment[name];
  return text === '' ? undefined : text;
};

/** Keeps the AWS SDK from printing advice about the version of Node.js between the lines of the log. */
export const quietSdk = (environment: Record<string, string | undefined>): void => {
  environment['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
};
