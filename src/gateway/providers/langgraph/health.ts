/**
 * Health check of LangGraph servers.
 *
 * @module
 */
import { A2AError } from '../../../core/errors.js'
import type { AgentStatus } from '../../registry/agent.js'
import type { ProviderCall } from '../../provider.js'
import type { Service } from '../shared/service.js'

const LIMIT_MS = 5_000

/**
 * Requests the first of these paths that exists: `online` for 2xx, `degraded` for any other response, `offline` for
 * none within 5 s.
 */
export async function healthOf(
  service: Service,
  paths: readonly string[],
  call: ProviderCall,
): Promise<AgentStatus> {
  try {
    for (const path of paths) {
      const { status } = await service.send(
        { method: 'GET', path, timeoutMs: LIMIT_MS, expected: [404] },
        call,
      )
      if (status !== 404) return 'online'
    }
    return 'degraded'
  } catch (error) {
    if (!A2AError.is(error, 'PROVIDER_ERROR')) throw error
    return error.data.status === undefined ? 'offline' : 'degraded'
  }
}
