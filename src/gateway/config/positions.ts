/**
 * The positions of agents in their configuration file, for errors that are found after it was read.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { AgentInput } from '../registry/agent.js'
import { variableFor } from './variables.js'
import type { ConfigNode } from './yaml-node.js'

const nodes = new WeakMap<AgentInput, ConfigNode>()

/** From now on, errors about the agent can have its position. */
export function rememberPosition(agent: AgentInput, node: ConfigNode): void {
  nodes.set(agent, node)
}

/** Runs `work` on an agent. Of an agent of a file, its errors become errors with the position in the file. */
export function atPosition<T>(agent: AgentInput, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const node = nodes.get(agent)
    if (node === undefined) throw error
    throw positioned(agent, node, error)
  }
}

function positioned(agent: AgentInput, node: ConfigNode, error: unknown): unknown {
  if (A2AError.is(error, 'PROVIDER_ERROR')) return node.errorAt('provider', error.data.reason)
  if (!A2AError.is(error, 'INVALID_PARAMS')) return error
  const { path, reason } = error.data
  const [, setting = ''] = /^settings\.(\w+)$/.exec(path) ?? []
  const isNamed = agent.settings?.[setting] === undefined && !node.hasSecretId
  const variable = isNamed ? variableFor(agent, setting) : undefined
  return node.errorAt(path, variable === undefined ? reason : `${reason}. Or set the variable ${variable}`)
}
