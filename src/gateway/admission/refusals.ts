/**
 * Errors for refused tasks.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { RegisteredAgent } from '../registry/agent.js'

/** Retry delay, in ms, for refusals without a known one. */
const RETRY_AFTER_MS = 5_000

export function agentNotFound(given: unknown): A2AError<'AGENT_NOT_FOUND'> {
  const agentId = String(given)
  const shown = agentId.length > 100 ? `${agentId.slice(0, 100)}…` : agentId
  return new A2AError('AGENT_NOT_FOUND', `Agent not found: ${shown}`, { agentId })
}

export function agentNotOnline({ id: agentId, status }: RegisteredAgent): A2AError<'AGENT_BUSY'> {
  const data = { agentId, reason: `it is ${status}`, retryable: true, retryAfterMs: RETRY_AFTER_MS } as const
  return new A2AError('AGENT_BUSY', `Agent ${agentId} is not online`, data)
}

export function agentBusy(
  agentId: string,
  reason: string,
  retryAfterMs = RETRY_AFTER_MS,
): A2AError<'AGENT_BUSY'> {
  const data = { agentId, reason, retryable: true, retryAfterMs } as const
  return new A2AError('AGENT_BUSY', `Agent is busy: ${agentId}`, data)
}

export function closed(): A2AError<'UNAVAILABLE'> {
  return new A2AError('UNAVAILABLE', 'The gateway is closing down', { reason: 'it is closing down' })
}
