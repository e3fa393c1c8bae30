/**
 * Cards as agents write them, from a URL or a file.
 *
 * @module
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseAgentCard } from 'a2a-tasks/agent-card'
import { A2AClient, type Fetch } from 'a2a-tasks/client'
import type { AgentCard } from 'a2a-tasks/schemas'
import type { Arguments } from '../arguments.js'
import { clientOptions, requireUrl } from '../connection/connect.js'
import { usageFailure } from '../failure.js'
import { readInput } from '../input.js'
import type { Terminal } from '../terminal/terminal.js'

const MAX_CARD_BYTES = 1_048_576

export interface LoadedCard {
  /** Where the card came from: a URL, or a path. */
  readonly source: string
  /** The JSON as the agent wrote it. */
  readonly raw: Readonly<Record<string, unknown>>
  /** The card in the form of A2A 1.0. */
  readonly card?: AgentCard
  /** Why a client cannot use the card. */
  readonly refusal?: unknown
  readonly headers?: Headers
}

/** Loads a card. What is a URL is not looked for in the files. */
export async function loadCard(args: Arguments, terminal: Terminal, at: string): Promise<LoadedCard> {
  return /^https?:\/\//i.test(at) ? await fetchCard(args, terminal, at) : await readCard(at, terminal.cwd)
}

async function fetchCard(args: Arguments, terminal: Terminal, at: string): Promise<LoadedCard> {
  const seen: { last?: Pick<LoadedCard, 'source' | 'raw' | 'headers'> } = {}
  const recording: Fetch = async (url, init) => {
    const response = await fetch(url, init)
    const text = response.ok ? await readText(response) : undefined
    if (text === undefined) return response
    const raw = toObject(text)
    if (raw !== undefined) seen.last = { source: url, raw, headers: response.headers }
    const { status, statusText, headers } = response
    return new Response(text, { status, statusText, headers })
  }
  const { options } = await clientOptions(args, terminal, at, { fetch: recording })
  const seconds = args.number('timeout')
  try {
    const timeoutMs = seconds === undefined ? {} : { timeoutMs: seconds * 1_000 }
    const { card } = await A2AClient.connect(at, { ...options, ...timeoutMs })
    if (seen.last === undefined) throw usageFailure('The agent sent no card')
    return { ...seen.last, card }
  } catch (error) {
    if (seen.last === undefined || Object.keys(seen.last.raw).length === 0) throw error
    return { ...seen.last, ...readAs10(seen.last.raw), refusal: error }
  }
}

/** Reads up to the largest card, and one byte more, which the client refuses. */
async function readText({ body }: Response): Promise<string | undefined> {
  if (body === null) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    // Without an encoding, a body has bytes.
    const bytes = chunk as Uint8Array
    chunks.push(bytes)
    size += bytes.length
    if (size > MAX_CARD_BYTES) break
  }
  return Buffer.concat(chunks).toString()
}

async function readCard(path: string, cwd: string): Promise<LoadedCard> {
  // A host is no file, unless there is one of this name.
  if (isHost(path) && !existsSync(resolve(cwd, path))) requireUrl(path)
  const raw = toObject((await readInput(path, cwd)).toString())
  if (raw === undefined) throw usageFailure(`"${path}" is not a card: it is not a JSON object`)
  const read = readAs10(raw)
  if (read.card === undefined) return { source: path, raw, ...read }
  try {
    return { source: path, raw, card: new A2AClient({ card: read.card }).card }
  } catch (refusal) {
    return { source: path, raw, ...read, refusal }
  }
}

function isHost(text: string): boolean {
  return /^[\w.-]+:\d+(\/|$)|^localhost(\/|$)/.test(text)
}

function readAs10(raw: object): Pick<LoadedCard, 'card' | 'refusal'> {
  try {
    return { card: parseAgentCard(raw) }
  } catch (refusal) {
    return { refusal }
  }
}

function toObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(text)
    // An object of JSON has only names that are texts.
    return typeof json === 'object' && json !== null && !Array.isArray(json)
      ? (json as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
