export interface Known {
  /** The id of a check, such as `message/echo`. */
  readonly check: string
  /** The interface that it fails over, such as `JSONRPC 1.0`. Default is each that the agent has. */
  readonly interface?: string
  readonly reason: string
  readonly spec?: string
}

export interface Result {
  readonly target: string
  readonly check: string
  readonly title: string
  readonly level: 'must' | 'should'
  readonly spec: string
  readonly outcome: 'passed' | 'failed' | 'known' | 'skipped'
  readonly sent?: string
  readonly expected?: string
  readonly got?: string
  readonly reason?: string
}

export interface Report {
  readonly interfaces: readonly string[]
  readonly results: readonly Result[]
  readonly stale: readonly Known[]
}

type Headers = Readonly<Record<string, string>>

export interface CheckOptions {
  readonly headers?: Headers | ((url: string) => Headers)
  readonly origin?: string
  readonly webhook?: string
  readonly only?: readonly string[]
  readonly known?: readonly Known[]
  /** Skips the checks of what the agent does not do when a message says so. Default is `false`: it has to. */
  readonly anyAgent?: boolean
  readonly onResult?: (result: Result) => void
}

export interface Check {
  readonly id: string
  readonly title: string
  readonly spec: string | Readonly<Record<'1.0' | '0.3', string>>
}

export const ALL_CHECKS: readonly Check[]
export function checkAgent(url: string, options?: CheckOptions): Promise<Report>
export function readKnown(file: string): Known[]
