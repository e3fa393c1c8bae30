/**
 * The methods of MCP, for both generations.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import { recordOf } from '../runtime/unread.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { missingTasks, type Answered, type Scene } from './answers.js'
import { callTool } from './calls.js'
import { listen } from './listen.js'
import { answerTo } from './questions.js'
import { Refusal } from './refusal.js'
import { cancel, deliver, knownTask } from './remote-tasks.js'
import { SESSION_VERSIONS, sessionFor, STATELESS_VERSIONS, TASKS, type Call } from './protocol.js'
import { detailedTaskOf } from './tasks.js'

type Method = (scene: Scene, call: Call) => Answered | Promise<Answered>

/** How long clients may keep what the card says, in ms. */
const CARD_TTL_MS = 60_000

const listTools = ({ tools }: Scene): JsonObject => ({
  tools: [...tools.values()].map(({ listed }) => listed),
})

const STATELESS: Readonly<Record<string, Method>> = {
  'server/discover': ({ agent }) =>
    cached({
      supportedVersions: [...STATELESS_VERSIONS, ...SESSION_VERSIONS],
      capabilities: { tools: {}, extensions: { [TASKS]: {} } },
      ...instructions(agent.card),
    }),
  'tools/list': (scene) => cached(listTools(scene)),
  'tools/call': callTool,
  'tasks/get': async (scene, call) => {
    const { settings, tools } = scene
    const task = await knownTask(scene, taskIdOf(call))
    return { result: detailedTaskOf(task, settings, tools, call.capabilities) }
  },
  'tasks/update': async (scene, call) => {
    const responses = recordOf(call.params['inputResponses'])
    if (responses === undefined) throw new Refusal('params', 'inputResponses must be an object')
    const task = await knownTask(scene, taskIdOf(call))
    await deliver(scene.agent, task, answerTo(task, responses))
    return { result: {} }
  },
  'tasks/cancel': async (scene, call) => {
    const { id } = await knownTask(scene, taskIdOf(call))
    await cancel(scene.agent, id)
    return { result: {} }
  },
  'subscriptions/listen': listen,
}

const IN_SESSION: Readonly<Record<string, Method>> = {
  initialize: ({ agent }, { params }) => {
    const { protocolVersion, capabilities } = params
    const [latest = ''] = SESSION_VERSIONS
    const version = SESSION_VERSIONS.find((each) => each === protocolVersion) ?? latest
    return {
      result: {
        protocolVersion: version,
        capabilities: { tools: {} },
        serverInfo: serverInfo(agent.card),
        ...instructions(agent.card),
      },
      session: sessionFor(recordOf(capabilities) ?? {}),
    }
  },
  ping: () => ({ result: {} }),
  'tools/list': (scene) => ({ result: listTools(scene) }),
  'tools/call': callTool,
}

/** @throws {Refusal} */
export async function answer(scene: Scene, call: Call): Promise<Answered> {
  const { method, isStateless, capabilities } = call
  const table = isStateless ? STATELESS : IN_SESSION
  const perform = Object.hasOwn(table, method) ? table[method] : undefined
  if (perform === undefined)
    throw new Refusal('method', `Method not found: ${method.slice(0, 100)}`, {
      status: isStateless ? 404 : 200,
    })
  if (method.startsWith('tasks/') && !capabilities.tasks) throw missingTasks()
  return await perform(scene, call)
}

function taskIdOf({ params: { taskId } }: Call): string {
  if (typeof taskId === 'string' && taskId !== '') return taskId
  throw new Refusal('params', 'taskId must be the id of a task')
}

function serverInfo({ name, version }: AgentCard): JsonObject {
  return { name, version }
}

function instructions({ description }: AgentCard): JsonObject {
  return description === '' ? {} : { instructions: description }
}

function cached(result: JsonObject): Answered {
  return { result: { ...result, ttlMs: CARD_TTL_MS, cacheScope: 'private' } }
}
