/** The rest of an exchange is for {@link talkTo}. */
export interface Exchange {
  readonly name: string
  readonly request: { readonly method: string; readonly path: string; readonly body?: unknown }
  readonly status?: number
  readonly headers?: Readonly<Record<string, unknown>>
  readonly json?: unknown
  readonly events?: readonly unknown[]
}

export const EXCHANGES: readonly Exchange[]
export function talkTo(
  base: string,
  ask?: (request: Request) => Promise<Response>,
): (exchange: Exchange) => Promise<void>
