/** The checks of an agent over HTTP, and their results. */

import { readFileSync } from 'node:fs'
import { BODY_CHECKS } from './checks/bodies.js'
import { CARD_CHECKS } from './checks/card.js'
import { HTTP_JSON_CHECKS } from './checks/http-json.js'
import { JSON_RPC_CHECKS } from './checks/json-rpc.js'
import { LIST_CHECKS } from './checks/lists.js'
import { MESSAGE_CHECKS } from './checks/messages.js'
import { PUSH_CHECKS } from './checks/push.js'
import { STREAM_CHECKS } from './checks/streams.js'
import { TASK_CHECKS } from './checks/tasks.js'
import { VERSION_CHECKS } from './checks/versions.js'
import { lackingOf } from './kit/abilities.js'
import { Skipped } from './kit/skipped.js'
import { interfacesOf, readCard, type AgentInterface } from './kit/card.js'
import { Mismatch } from './kit/mismatch.js'
import { Target } from './kit/targets.js'
import type { CardContext, Check, Context, Spec } from './kit/check.js'
import type { WireCard } from './kit/wire.js'

/** A failure that is known. */
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
  /** The names of the interfaces that were checked. */
  readonly interfaces: readonly string[]
  /** One for each check. */
  readonly results: readonly Result[]
  /** The known failures that did not fail. */
  readonly stale: readonly Known[]
}

type Headers = Readonly<Record<string, string>>
type HeadersOption = Headers | ((url: string) => Headers)

export interface CheckOptions {
  /** Headers of every request, or a function that returns those for the URL of an interface. */
  readonly headers?: HeadersOption
  /** Replaces the origin of the URLs of the card. */
  readonly origin?: string
  /** The URL of push notification configurations. */
  readonly webhook?: string
  /** The names of the interfaces to check, such as `JSONRPC 1.0`. */
  readonly only?: readonly string[]
  readonly known?: readonly Known[]
  /** Skips the checks of what the agent does not do when a message says so. Default is `false`: it has to. */
  readonly anyAgent?: boolean
  /** Called with each result. */
  readonly onResult?: (result: Result) => void
}

/** A name that cannot be resolved on purpose: nothing has to be sent there. */
const WEBHOOK = 'https://webhook.example.com/a2a'

/** The checks of one interface. */
const CHECKS: readonly Check[] = [
  ...JSON_RPC_CHECKS,
  ...HTTP_JSON_CHECKS,
  ...MESSAGE_CHECKS,
  ...STREAM_CHECKS,
  ...TASK_CHECKS,
  ...LIST_CHECKS,
  ...PUSH_CHECKS,
  ...VERSION_CHECKS,
  ...BODY_CHECKS,
]

export const ALL_CHECKS: readonly Pick<Check, 'id' | 'title' | 'spec'>[] = [...CARD_CHECKS, ...CHECKS]

/**
 * Runs all checks that an agent's card gives reason for, one after the other.
 *
 * @param url the URL of the agent, or of its card.
 */
export async function checkAgent(url: string, options: CheckOptions = {}): Promise<Report> {
  const { headers, origin, webhook = WEBHOOK, only, known = [], anyAgent = false, onResult } = options
  const { json: card } = await readCard(url)
  const targets = checkedInterfaces(card, origin, only).map(
    (each) => new Target(each, { headers: headersFor(each, headers), webhook }),
  )
  const results: Result[] = []
  const add = (result: Result): void => {
    results.push(result)
    onResult?.(result)
  }
  for (const check of CARD_CHECKS) {
    const context = { url, card, targets }
    if (check.when?.(context) !== false) add(await run(check, context, 'card'))
  }
  for (const target of targets) {
    if (anyAgent) target.lacks = await lackingOf(target, card)
    for (const check of CHECKS) {
      const context = { url, card, targets, target }
      if (isFor(check, target) && check.when?.(context) !== false) add(await run(check, context, target.name))
    }
  }
  return { interfaces: targets.map(({ name }) => name), ...withKnown(results, known) }
}

function headersFor({ url }: AgentInterface, headers: HeadersOption | undefined): Headers | undefined {
  return typeof headers === 'function' ? headers(url) : headers
}

/** The interfaces of the card that are to be checked. */
function checkedInterfaces(
  card: WireCard,
  origin: string | undefined,
  only: readonly string[] | undefined,
): AgentInterface[] {
  const found = interfacesOf(card, origin)
  const interfaces = found.filter(({ name }) => only?.includes(name) ?? true)
  if (interfaces.length > 0) return interfaces
  throw new Error('The card offers no JSONRPC or HTTP+JSON of A2A 1.0 or 0.3 that is to be checked')
}

/** A file of known failures: a list of `{ check, interface?, reason, spec? }`. */
export function readKnown(file: string): Known[] {
  // What is read of it is checked below.
  const known = JSON.parse(readFileSync(file, 'utf8')) as Known[]
  const names = new Set(ALL_CHECKS.map(({ id }) => id))
  for (const { check, reason } of known as { check: string; reason: unknown }[]) {
    if (!names.has(check)) throw new Error(`${file}: there is no check ${check}`)
    if (typeof reason !== 'string' || reason === '') throw new Error(`${file}: ${check} has no reason`)
  }
  return known
}

function isFor({ only = {} }: Check, { binding, version }: Target): boolean {
  return (only.binding ?? binding) === binding && (only.version ?? version) === version
}

/** What a check and its context are, of a card and of an interface. */
interface Runnable<C> extends Pick<Check, 'id' | 'title' | 'level' | 'spec'> {
  readonly run: (context: C) => Promise<void>
}

async function run<C extends CardContext & Partial<Pick<Context, 'target'>>>(
  check: Runnable<C>,
  context: C,
  target: string,
): Promise<Result> {
  const { id, title, level = 'must' } = check
  const result = { target, check: id, title, level, spec: specOf(check.spec, context.target) }
  try {
    await check.run(context)
    return { ...result, outcome: 'passed' }
  } catch (error) {
    if (error instanceof Skipped) return { ...result, outcome: 'skipped', reason: error.message }
    if (error instanceof Mismatch) {
      const { sent, expected, got } = error
      return { ...result, outcome: 'failed', sent, expected, got }
    }
    const expected = 'an answer of the form of the protocol'
    return {
      ...result,
      outcome: 'failed',
      sent: '',
      expected,
      got: `one that cannot be read: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    }
  }
}

function specOf(spec: Spec, target: Target | undefined): string {
  if (typeof spec === 'string') return spec
  const version = target?.isModern === false ? '0.3' : '1.0'
  return `${version} ${spec[version]}`
}

/** Failures that are known count as such. A known failure that did not happen is stale. */
function withKnown(results: readonly Result[], known: readonly Known[]): Pick<Report, 'results' | 'stale'> {
  const met = new Set<Known>()
  const marked = results.map((result): Result => {
    if (result.outcome !== 'failed') return result
    const entry = known.find(
      (each) => each.check === result.check && (each.interface ?? result.target) === result.target,
    )
    if (entry === undefined) return result
    met.add(entry)
    return { ...result, outcome: 'known', reason: entry.reason }
  })
  return { results: marked, stale: known.filter((entry) => !met.has(entry)) }
}
