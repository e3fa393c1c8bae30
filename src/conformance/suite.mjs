/** The checks of an agent over HTTP, and their results. */

import { readFileSync } from 'node:fs'
import { BODY_CHECKS } from './checks/bodies.mjs'
import { CARD_CHECKS } from './checks/card.mjs'
import { HTTP_JSON_CHECKS } from './checks/http-json.mjs'
import { JSON_RPC_CHECKS } from './checks/json-rpc.mjs'
import { LIST_CHECKS } from './checks/lists.mjs'
import { MESSAGE_CHECKS } from './checks/messages.mjs'
import { PUSH_CHECKS } from './checks/push.mjs'
import { STREAM_CHECKS } from './checks/streams.mjs'
import { TASK_CHECKS } from './checks/tasks.mjs'
import { VERSION_CHECKS } from './checks/versions.mjs'
import { lackingOf, Skipped } from './kit/abilities.mjs'
import { interfacesOf, readCard } from './kit/card.mjs'
import { Mismatch } from './kit/mismatch.mjs'
import { Target } from './kit/targets.mjs'

/** A name that cannot be resolved on purpose: nothing has to be sent there. */
const WEBHOOK = 'https://webhook.example.com/a2a'

/** The checks of one interface. */
const CHECKS = [
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

export const ALL_CHECKS = [...CARD_CHECKS, ...CHECKS]

/**
 * Runs all checks that an agent's card gives reason for, one after the other.
 *
 * @param url the URL of the agent, or of its card.
 * @param options `headers` for every request, or a function that returns those for the URL of an interface; `origin` in place of the origin of the URLs of the card; `webhook`, the URL
 *   of push notification configurations; `only`, names of interfaces such as `JSONRPC 1.0`; `known`, known failures;
 *   `anyAgent`, to skip the checks of what the agent does not do when a message says so; `onResult`, called with each result.
 * @returns `interfaces`, their names; `results`, one for each check; `stale`, the known failures that did not fail.
 */
export async function checkAgent(url, options = {}) {
  const {
    headers,
    origin,
    webhook = WEBHOOK,
    only,
    known = [],
    anyAgent = false,
    onResult = () => {},
  } = options
  const { json: card } = await readCard(url)
  const targets = checkedInterfaces(card, origin, only).map(
    (each) => new Target(each, { headers: headersFor(each, headers), webhook }),
  )
  const results = []
  const add = (result) => {
    results.push(result)
    onResult(result)
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

function headersFor({ url }, headers) {
  return typeof headers === 'function' ? headers(url) : headers
}

/** The interfaces of the card that are to be checked. */
function checkedInterfaces(card, origin, only) {
  const found = interfacesOf(card, origin)
  const interfaces = found.filter(({ name }) => only === undefined || only.includes(name))
  if (interfaces.length > 0) return interfaces
  throw new Error('The card offers no JSONRPC or HTTP+JSON of A2A 1.0 or 0.3 that is to be checked')
}

/** A file of known failures: a list of `{ check, interface?, reason, spec? }`. */
export function readKnown(file) {
  const known = JSON.parse(readFileSync(file, 'utf8'))
  const names = new Set(ALL_CHECKS.map(({ id }) => id))
  for (const { check, reason } of known) {
    if (!names.has(check)) throw new Error(`${file}: there is no check ${check}`)
    if (typeof reason !== 'string' || reason === '') throw new Error(`${file}: ${check} has no reason`)
  }
  return known
}

function isFor({ only = {} }, { binding, version }) {
  return (only.binding ?? binding) === binding && (only.version ?? version) === version
}

async function run(check, context, target) {
  const { id, title, level = 'must' } = check
  const result = { target, check: id, title, level, spec: specOf(check, context.target) }
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
      got: `one that cannot be read: ${error.stack}`,
    }
  }
}

function specOf({ spec }, target) {
  if (typeof spec === 'string') return spec
  const version = target?.version ?? '1.0'
  return `${version} ${spec[version]}`
}

/** Failures that are known count as such. A known failure that did not happen is stale. */
function withKnown(results, known) {
  const met = new Set()
  const marked = results.map((result) => {
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
