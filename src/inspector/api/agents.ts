/**
 * Agents of a gateway: their health, load and circuit breakers.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import type { AgentRow } from '../agent-row.js'
import { readBody } from '../body.js'
import type { InspectedGateway } from '../options.js'
import { Refusal } from '../refusal.js'
import { jsonResponse } from '../responses.js'
import { audit, type Call } from './call.js'
import { requiredText } from './parameters.js'

const MAX_AGENTS = 1_000

export function agents(call: Call): Response {
  const gateway = gatewayOf(call)
  return jsonResponse(rowsOf(gateway))
}

/** Takes an agent out of service, or puts it back and checks its health. */
export async function maintain(call: Call): Promise<Response> {
  const gateway = gatewayOf(call)
  const body = await readBody(call)
  const agentId = requiredText(body, 'id')
  const status = requiredText(body, 'status')
  if (status !== 'maintenance' && status !== 'online')
    throw invalidParams('status', 'must be maintenance or online')
  await audit(call, 'maintain', { agentId })
  const agent = gateway.registry.updateStatus(agentId, status)
  if (agent === null) throw new Refusal(404, 'There is no such agent')
  if (status === 'online') await gateway.registry.checkHealth(agentId)
  return jsonResponse(rowsOf(gateway))
}

/** @throws {Refusal} for a person who sees the tasks of one owner: agents are those of all. */
function gatewayOf({ settings: { gateway }, scope }: Call): InspectedGateway {
  if (gateway === undefined) throw new Refusal(404, 'The inspector has no gateway')
  if (scope.filter.owner !== undefined) throw new Refusal(403, 'You may not see the agents of the gateway')
  return gateway
}

function rowsOf(gateway: InspectedGateway): readonly AgentRow[] {
  const all = gateway.registry.list().slice(0, MAX_AGENTS)
  return all.map(({ id, name, description, provider, endpoint, ...agent }) => ({
    ...{ id, name, description, provider, status: agent.status },
    url: withoutSecrets(endpoint.url),
    capabilities: agent.capabilities.map((capability) => capability.name),
    tags: agent.metadata.tags,
    lastSeenAt: agent.metadata.lastSeenAt,
    load: gateway.loadOf(id),
    maxLoad: agent.maxConcurrentTasks ?? null,
    ...doneBy(gateway, id),
    waitMs: gateway.waitMsOf(id),
  }))
}

function doneBy(
  gateway: InspectedGateway,
  id: string,
): Pick<AgentRow, 'tasks' | 'completed' | 'failed' | 'meanMs' | 'spent'> {
  const { tasks = 0, completed = 0, failed = 0, durationMs, spent = {} } = gateway.stats(id) ?? {}
  return { tasks, completed, failed, meanMs: durationMs?.mean ?? 0, spent }
}

/** A URL without its user, query and fragment. */
function withoutSecrets(text: string): string {
  const { origin, pathname } = new URL(text)
  return origin + pathname
}
