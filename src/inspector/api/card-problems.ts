/**
 * Problems of the card of the agent: as the handler serves it, or as the client has read it.
 *
 * @module
 */
import { lintAgentCard, type CardProblem } from '../../agent-card/lint.js'
import type { InspectedHandler, Settings } from '../options.js'

const CARD_PATH = '/.well-known/agent-card.json'
const MAX_PROBLEMS = 200

export async function cardProblems({ handler, client }: Settings): Promise<readonly CardProblem[]> {
  const problems = client === undefined ? await problemsServed(handler) : lintAgentCard(client.card)
  return problems.slice(0, MAX_PROBLEMS)
}

async function problemsServed(handler: InspectedHandler | undefined): Promise<readonly CardProblem[]> {
  const agent = handler?.card.supportedInterfaces[0]?.url
  if (handler?.fetch === undefined || agent === undefined) return []
  const url = new URL(CARD_PATH, agent).href
  const response = await handler.fetch(new Request(url))
  if (!response.ok) return []
  const json: unknown = await response.json()
  if (typeof json !== 'object' || json === null) return []
  return lintAgentCard(json, { url, headers: response.headers })
}
