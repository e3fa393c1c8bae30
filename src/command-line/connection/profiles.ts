/**
 * Profiles: named credentials in a file of the user.
 *
 * @module
 */
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'
import { usageFailure } from '../failure.js'
import { nearest } from '../suggestion.js'
import type { Terminal } from '../terminal/terminal.js'

export interface Profile {
  /** The only origin that gets the credentials. Default is any. */
  readonly url?: string
  readonly bearer?: string
  readonly headers?: Readonly<Record<string, string>>
}

const MAX_BYTES = 1_048_576

interface Platform {
  readonly platform: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

/** The place of the file: below `XDG_CONFIG_HOME` or `~/.config`, on Windows below `APPDATA`. */
export function profilesPath({ platform, env, home }: Platform): string {
  if (platform === 'win32') {
    const base = env['APPDATA'] || win32.join(home, 'AppData', 'Roaming')
    return win32.join(base, 'a2a-tasks', 'profiles.json')
  }
  const configured = env['XDG_CONFIG_HOME']
  // The specification of XDG says to ignore a relative path.
  const base =
    configured !== undefined && posix.isAbsolute(configured) ? configured : posix.join(home, '.config')
  return posix.join(base, 'a2a-tasks', 'profiles.json')
}

/**
 * Reads the profile `name`. Warns when others can read the file.
 *
 * @throws {CommandFailure} that shows nothing of the file but names of profiles.
 */
export async function readProfile(name: string, { env, err }: Terminal): Promise<Profile> {
  const path = profilesPath({ platform: process.platform, env, home: homedir() })
  const profiles = await readProfiles(path)
  if (isReadByOthers(path)) {
    err.line(`Warning: other users can read ${path}. Run: chmod 600 '${path}'`)
  }
  if (!Object.hasOwn(profiles, name)) {
    const names = Object.keys(profiles)
    const found = nearest(name, names)
    const hint = found === undefined ? `It has: ${names.join(', ') || 'none'}` : `Did you mean ${found}?`
    throw usageFailure(`There is no profile "${name}" in ${path}`, hint)
  }
  return toProfile(profiles[name], `${path}: profile "${name}"`)
}

async function readProfiles(path: string): Promise<Record<string, unknown>> {
  let text
  try {
    if (statSync(path).size > MAX_BYTES) throw usageFailure(`${path} is larger than ${MAX_BYTES} bytes`)
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const reason =
      error.code === 'ENOENT' ? 'There is no file' : `(${String(error.code)}) Cannot read the file`
    throw usageFailure(`${reason} ${path}`, 'Write it as { "name": { "url": "https://…", "bearer": "…" } }')
  }
  const json = parsed(text)
  // The parser's own message quotes the text, and with it secrets.
  if (!isObject(json)) throw usageFailure(`${path} is not a JSON object`, 'Check its commas and quotes')
  return json
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toProfile(json: unknown, where: string): Profile {
  if (!isObject(json)) throw usageFailure(`${where} is not an object`)
  const { url, bearer, headers, ...others } = json
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw usageFailure(`${where} has the unknown property "${unknown}"`, 'Known are url, bearer and headers')
  }
  if (url !== undefined && (typeof url !== 'string' || !URL.canParse(url))) {
    throw usageFailure(`${where}: "url" must be a URL`)
  }
  if (bearer !== undefined && typeof bearer !== 'string')
    throw usageFailure(`${where}: "bearer" must be a text`)
  if (headers !== undefined && !isTexts(headers)) {
    throw usageFailure(`${where}: "headers" must be an object of texts`)
  }
  return {
    ...(url !== undefined && { url }),
    ...(bearer !== undefined && { bearer }),
    ...(headers !== undefined && { headers }),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTexts(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((text) => typeof text === 'string')
}

/** Windows has no such modes. */
function isReadByOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
}
