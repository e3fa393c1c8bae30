/**
 * Options of commands that call an agent.
 *
 * @module
 */
import type { Options } from '../syntax.js'

export const CREDENTIAL_OPTIONS: Options = {
  bearer: {
    type: 'string',
    value: 'TOKEN',
    help: 'Send this bearer token. Better: A2A_BEARER, or a profile',
  },
  header: {
    type: 'string',
    multiple: true,
    value: "'NAME: VALUE'",
    help: 'Send this header with every request',
  },
  profile: { type: 'string', value: 'NAME', help: 'Use the credentials of this profile' },
}

export const CONNECTION_OPTIONS: Options = {
  ...CREDENTIAL_OPTIONS,
  timeout: {
    type: 'string',
    value: 'SECONDS',
    help: 'Time limit of each request; of send, resume and watch: of all',
  },
  verbose: {
    type: 'boolean',
    short: 'v',
    help: 'Show each request on stderr, without headers and bodies, and the stack of an error',
  },
}
