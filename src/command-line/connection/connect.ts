/**
 * Connection of a command to an agent.
 *
 * @module
 */
import { A2AClient, type ClientOptions, type Fetch } from 'a2a-tasks/client'
import type { Arguments } from '../arguments.js'
import { usageFailure } from '../failure.js'
import { printableLine } from '../terminal/printable.js'
import { dim } from '../terminal/style.js'
import type { Channel, Terminal } from '../terminal/terminal.js'
import { readCredentials, type Credentials } from './credentials.js'

export interface Connected {
  readonly client: A2AClient
  readonly credentials: Credentials
}

/** The options of a client for `url`, with the credentials of the command. */
export async function clientOptions(
  args: Arguments,
  terminal: Terminal,
  url: string,
  { profile, fetch = plainFetch }: { profile?: string | undefined; fetch?: Fetch } = {},
): Promise<{ options: ClientOptions; credentials: Credentials }> {
  requireUrl(url)
  const credentials = await readCredentials(args, terminal, url, profile)
  const { headersFor } = credentials
  const options = {
    ...(headersFor !== undefined && { auth: authBy(headersFor) }),
    fetch: args.flag('verbose') ? reporting(fetch, terminal.err) : fetch,
  }
  return { options, credentials }
}

/** The headers of the protocol are left as they are. */
function authBy(headersFor: NonNullable<Credentials['headersFor']>): NonNullable<ClientOptions['auth']> {
  return {
    apply({ url, headers }) {
      for (const [name, value] of Object.entries(headersFor(url))) {
        if (!headers.has(name)) headers.set(name, value)
      }
    },
  }
}

/** Connects to the agent at `url`. `isRun`: the time limit is that of the run, and not of each request. */
export async function connect(
  args: Arguments,
  terminal: Terminal,
  url: string,
  { isRun = false, profile }: { isRun?: boolean; profile?: string | undefined } = {},
): Promise<Connected> {
  const { options, credentials } = await clientOptions(args, terminal, url, { profile })
  const seconds = args.number('timeout')
  const timeoutMs = seconds === undefined || isRun ? undefined : seconds * 1_000
  const client = await A2AClient.connect(url, { ...options, ...(timeoutMs !== undefined && { timeoutMs }) })
  return { client, credentials }
}

const plainFetch: Fetch = (url, init) => fetch(url, init)

/** A URL without credentials in it, which every message can show. */
export function requireUrl(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.username || parsed?.password) {
    throw usageFailure('The URL contains a user name or a password', 'Use --header or a profile instead')
  }
  if (parsed !== undefined && /^https?:$/.test(parsed.protocol)) return
  const isLocal = /^(localhost|127\.|\[::1\]|[\w-]+:\d+$)/.test(url)
  const guess = `${isLocal ? 'http' : 'https'}://${url}`
  const isHost = /^[\w.-]+(:\d+)?(\/|$)/.test(url) && URL.canParse(guess)
  throw usageFailure(
    `"${url}" is not an http or https URL`,
    isHost ? `Did you mean ${guess}?` : 'Write it as https://agent.example',
  )
}

/** Shows method, URL, status and time of each request. A query may contain a key. */
function reporting(send: Fetch, err: Channel): Fetch {
  return async (url, init) => {
    const name = `${init.method ?? 'GET'} ${printableLine(url.replace(/\?.*/, '?…'))}`
    const start = performance.now()
    const tell = (text: string): void =>
      err.line(dim(`${name} ${text} (${Math.round(performance.now() - start)} ms)`))
    try {
      const response = await send(url, init)
      tell(String(response.status))
      return response
    } catch (error) {
      tell('failed')
      throw error
    }
  }
}
