/**
 * Problems of the card of the handler, as the handler serves it.
 *
 * @module
 */
import { lintAgentCard, type CardProblem } from '../../agent-card/lint.js'
import type { InspectedHandler } from '../options.js'

const CARD_PATH = '/.well-known/agent-card.json'
const MAX_PROBLEMS = 200

export async function cardProblems(handler: InspectedHandler | undefined): Promise<readonly CardProblem[]> {
  const agent = handler?.card.supportedInterfaces[0]?.url
  if (handler?.fetch === undefined || agent === undefined) return []
  const url = new URL(CARD_PATH, agent).href
  const response = await handler.fetch(new Request(url))
  if (!response.ok) return []
  const json: unknown = await response.json()
  if (typeof json !== 'object' || json === null) return []
  return lintAgentCard(json, { url, headers: response.headers }).slice(0, MAX_PROBLEMS)
}
