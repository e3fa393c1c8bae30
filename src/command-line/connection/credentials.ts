/**
 * Credentials of a command: those of its options, of a profile, or of the environment, in this order.
 *
 * @module
 */
import type { Arguments } from '../arguments.js'
import { usageFailure } from '../failure.js'
import type { Terminal } from '../terminal/terminal.js'
import { readProfile, type Profile } from './profiles.js'

export interface Credentials {
  /** Headers for a request to `url`. Without credentials, there is none. */
  readonly headersFor?: (url: URL | string) => Readonly<Record<string, string>>
  /** The name of the profile that they are of. */
  readonly profile?: string
}

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/

/** Returns the credentials for `url`, which no output shows from then on. */
export async function readCredentials(
  args: Arguments,
  terminal: Terminal,
  url: string,
  profileOfHandle?: string,
): Promise<Credentials> {
  const { env } = terminal
  const headers = toHeaders(args.texts('header'), '--header')
  const bearer = args.text('bearer')
  const asked = args.text('profile') ?? profileOfHandle
  const hasOptions = bearer !== undefined || args.texts('header').length > 0
  // Variables are for commands that name nothing of their own.
  const name = asked ?? (hasOptions ? undefined : env['A2A_PROFILE'] || undefined)
  const profile = name === undefined ? {} : await readProfile(name, terminal)
  requireOrigin(profile, name, url)
  const variables = asked === undefined && !hasOptions ? toVariables(env) : undefined
  const token = bearer ?? variables?.bearer ?? profile.bearer
  const others = { ...checkedHeaders(profile.headers, name), ...variables?.headers, ...headers }
  hide(terminal, [token, ...Object.values(others)])
  requireToken(token)
  const all = token === undefined ? others : { ...others, authorization: `Bearer ${token}` }
  const ofProfile = name === undefined ? {} : { profile: name }
  return { ...ofProfile, ...withinOrigin(all, profile, name, terminal) }
}

/** The card of an agent may name any URL. The credentials of a profile stay at its own. */
function withinOrigin(
  headers: Readonly<Record<string, string>>,
  { url: own }: Profile,
  name: string | undefined,
  { err }: Terminal,
): Pick<Credentials, 'headersFor'> {
  if (Object.keys(headers).length === 0) return {}
  const origin = own === undefined ? undefined : new URL(own).origin
  const told = new Set<string>()
  const headersFor: NonNullable<Credentials['headersFor']> = (url) => {
    const { origin: asked } = new URL(url)
    if (origin === undefined || asked === origin) return headers
    if (!told.has(asked)) {
      err.line(`${asked} gets no credentials: the profile "${name ?? ''}" is for ${origin}`)
    }
    told.add(asked)
    return {}
  }
  return { headersFor }
}

interface Variables {
  readonly bearer?: string
  readonly headers: Readonly<Record<string, string>>
}

function toVariables(env: Terminal['env']): Variables {
  const bearer = env['A2A_BEARER']
  return { headers: toHeaders(linesOf(env['A2A_HEADER']), 'A2A_HEADER'), ...(bearer && { bearer }) }
}

/** Keeps the values out of all output. */
function hide({ secrets }: Terminal, values: readonly (string | undefined)[]): void {
  for (const value of values) {
    if (value === undefined) continue
    secrets.add(value)
    // An agent may repeat the token without its scheme.
    secrets.add(value.replace(/^[A-Za-z]+ +/, ''))
  }
}

function requireToken(token: string | undefined): void {
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return
  throw usageFailure(
    'The bearer token has characters that a token cannot have, such as a space',
    'Pass the token alone',
  )
}

function linesOf(text: string | undefined): string[] {
  return (text ?? '').split('\n').filter((line) => line.trim() !== '')
}

/** Does not quote what is wrong: it may be a secret. */
function toHeaders(texts: readonly string[], where: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = HEADER.exec(text.trim()) ?? []
      if (name === undefined || value === undefined) {
        throw usageFailure(`${where} must be "Name: value"`, `For example: --header 'X-API-Key: …'`)
      }
      return [name.toLowerCase(), value]
    }),
  )
}

function checkedHeaders(headers: Profile['headers'] = {}, profile = ''): Record<string, string> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return toHeaders(lines, `A header of the profile "${profile}"`)
}

/** Keeps the credentials of a profile from other agents than its own. */
function requireOrigin({ url: own }: Profile, name: string | undefined, url: string): void {
  if (own === undefined || !URL.canParse(url)) return
  const { origin } = new URL(own)
  if (origin === new URL(url).origin) return
  throw usageFailure(
    `The profile "${name ?? ''}" is for ${origin}, and not for ${new URL(url).origin}`,
    'Use another profile, or change its "url"',
  )
}
