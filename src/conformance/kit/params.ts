/** Parameters of requests, as A2A 1.0 has them. */

/** A message of A2A 1.0, or one that is wrong. */
export interface SentMessage {
  readonly [name: string]: unknown
  readonly role?: string
  readonly parts?: unknown
}

export interface Configuration {
  readonly [name: string]: unknown
  readonly returnImmediately?: boolean
}

/** Parameters of A2A 1.0. */
export interface Params {
  readonly [name: string]: unknown
  readonly id?: unknown
  readonly taskId?: unknown
  readonly tenant?: string
  readonly message?: SentMessage
  readonly configuration?: Configuration
}
