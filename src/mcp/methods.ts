/**
 * The methods of MCP, for both generations.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { JsonObject } from '../core/json-types.js'
import { isTerminal } from '../core/lifecycle.js'
import { recordOf } from '../runtime/unread.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { missingTasks, type Answered, type Method, type Scene } from './answers.js'
import { callTool, resultOfCall } from './calls.js'
import { listen } from './listen.js'
import { answerTo } from './questions.js'
import { Refusal } from './refusal.js'
import { cancel, deliver, knownTask } from './remote-tasks.js'
import { SESSION_VERSIONS, sessionFor, STATELESS_VERSIONS, taskIdOf, TASKS, type Call } from './protocol.js'
import { detailedTaskOf, sessionTaskOf } from './tasks.js'
import type { Tool } from './tools.js'

/** How long clients may keep what the card says, in ms. */
const CARD_TTL_MS = 60_000

/** What clients with a session can do with tasks (2025-11-25). */
const TASKS_CAPABILITY = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
/** The tasks of a page. */
const PAGE = 20

const listTools = ({ tools }: Scene): JsonObject => ({
  tools: [...tools.values()].map(({ listed }) => listed),
})

/** Clients with a session choose whether a call is a task, unless it has to be one. */
function inSession({ listed, given }: Tool): JsonObject {
  return { ...listed, execution: { taskSupport: given.requiresTask === true ? 'required' : 'optional' } }
}

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
        capabilities: { tools: {}, ...(version === latest && TASKS_CAPABILITY) },
        serverInfo: serverInfo(agent.card),
        ...instructions(agent.card),
      },
      session: sessionFor(recordOf(capabilities) ?? {}),
    }
  },
  ping: () => ({ result: {} }),
  'tools/list': ({ tools }) => ({
    result: { tools: [...tools.values()].map(inSession) },
  }),
  'tools/call': callTool,
  'tasks/get': async (scene, call) => ({
    result: sessionTaskOf(await knownTask(scene, taskIdOf(call)), scene.settings),
  }),
  'tasks/result': (scene, call) => {
    const relatedTask = taskIdOf(call)
    return resultOfCall(scene, { ...call, relatedTask }, relatedTask)
  },
  'tasks/list': async ({ agent, settings, read }, { params: { cursor } }) => {
    if (cursor !== undefined && typeof cursor !== 'string')
      throw new Refusal('params', 'cursor must be a text')
    const query = { pageSize: PAGE, historyLength: 1, ...(cursor !== undefined && { pageToken: cursor }) }
    const { tasks, nextPageToken } = await read(async () => await agent.listTasks(query)).catch(
      (error: unknown) => {
        if (cursor === undefined || !A2AError.is(error, 'INVALID_PARAMS')) throw error
        throw new Refusal('params', 'cursor must be a nextCursor that this user has got')
      },
    )
    const next = nextPageToken === '' ? {} : { nextCursor: nextPageToken }
    return { result: { tasks: tasks.map((task) => sessionTaskOf(task, settings)), ...next } }
  },
  'tasks/cancel': async (scene, call) => {
    const { id, state } = await knownTask(scene, taskIdOf(call))
    if (isTerminal(state)) throw new Refusal('params', 'The task has ended')
    return { result: sessionTaskOf(await scene.agent.cancelTask(id), scene.settings) }
  },
}

/** @throws {Refusal} */
export async function answer(scene: Scene, call: Call): Promise<Answered> {
  const { method, isStateless, capabilities, position } = call
  if (position !== undefined) return await resultOfCall(scene, call, position.taskId)
  const table = isStateless ? STATELESS : IN_SESSION
  const perform = Object.hasOwn(table, method) ? table[method] : undefined
  if (perform === undefined)
    throw new Refusal('method', `Method not found: ${method.slice(0, 100)}`, {
      status: isStateless ? 404 : 200,
    })
  if (isStateless && method.startsWith('tasks/') && !capabilities.tasks) throw missingTasks()
  return await perform(scene, call)
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
