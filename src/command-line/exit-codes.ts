/** Exit codes of the command line. */
export const EXIT = {
  ok: 0,
  /** The command was carried out, and its result is negative. */
  negative: 1,
  /** The command line, a file or a profile is wrong. */
  usage: 2,
  /** The agent, or the store, was not reached, or does not speak its protocol. */
  unreachable: 3,
  /** The agent refused the request. */
  refused: 4,
  /** The task waits for an answer or for credentials. */
  waiting: 5,
  /** The time limit has passed. */
  timedOut: 6,
  /** Ctrl-C. */
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
