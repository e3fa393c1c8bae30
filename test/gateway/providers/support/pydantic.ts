/** FastA2A's generations, as their applications, schemas and in-memory stores answer. */
import { site, type Asked, type Reply, type Site } from '../../../http/support/http.js'

export type Generation = 'first' | 'second' | 'third' | 'newest'

export interface Worked {
  readonly state?: string
  readonly artifacts?: readonly object[]
  readonly history?: readonly object[]
}

const CARD = {
  name: 'My Agent',
  description: 'An AI agent exposed as an A2A agent.',
  version: '1.0.0',
  skills: [],
  defaultInputModes: ['application/json'],
  defaultOutputModes: ['application/json'],
}
/** Where the card says that the agent is, unless it was given another URL. */
const DEFAULT_URL = 'http://localhost:8000'

const CARDS: Readonly<Record<Generation, object>> = {
  first: {
    ...{ ...CARD, url: DEFAULT_URL, protocolVersion: '0.2.5' },
    capabilities: { streaming: false, pushNotifications: false, stateTransitionHistory: false },
  },
  second: {
    ...{ ...CARD, url: DEFAULT_URL, protocolVersion: '0.3.0' },
    capabilities: { streaming: false, pushNotifications: false, stateTransitionHistory: false },
  },
  third: {
    ...CARD,
    supportedInterfaces: [{ protocolBinding: 'JSONRPC', url: DEFAULT_URL, protocolVersion: '1.0' }],
    capabilities: { streaming: true, pushNotifications: false },
  },
  newest: {
    ...CARD,
    supportedInterfaces: [{ protocolBinding: 'JSONRPC', url: DEFAULT_URL, protocolVersion: '1.0' }],
    capabilities: { streaming: true, pushNotifications: false },
  },
}

interface Request {
  readonly id: unknown
  readonly method: string
  readonly params: { id: string; message: Message; configuration?: { acceptedOutputModes?: unknown } }
}
interface Message {
  [key: string]: unknown
  readonly role?: unknown
  readonly contextId?: string
  readonly parts?: readonly Record<string, unknown>[]
}

/** A server of that generation, whose worker makes `worked` of every task once it is asked for. */
export async function fastA2A(generation: Generation, worked: Worked, mount = ''): Promise<Site> {
  const isOld = generation === 'first' || generation === 'second'
  const kind = isOld ? { kind: 'task' } : {}
  const tasks = new Map<string, Record<string, unknown>>()
  const answer = (asked: Asked): Reply => {
    const cardPath = generation === 'first' ? 'agent.json' : 'agent-card.json'
    if (asked.method === 'GET' && asked.path === `${mount}/.well-known/${cardPath}`) {
      return { body: CARDS[generation] }
    }
    if (asked.method !== 'POST' || asked.path !== `${mount}/`) return text(404, 'Not Found')
    const request = JSON.parse(asked.body) as Request
    if (!isValid(request, isOld)) return text(500, 'Internal Server Error')
    const { id, method, params } = request
    const reply = (result: unknown): Reply => ({ body: { jsonrpc: '2.0', id, result } })
    if (method === 'message/send') {
      const taskId = `task-${tasks.size + 1}`
      const contextId = params.message.contextId ?? `context-${tasks.size + 1}`
      const history = [{ ...params.message, taskId, contextId }]
      const status = { state: 'submitted', timestamp: '2025-07-10T09:00:00.000000' }
      const task = { id: taskId, contextId, ...kind, status, history }
      tasks.set(taskId, task)
      return reply(isOld ? task : { task })
    }
    const task = tasks.get(params.id)
    if (task === undefined) {
      return { body: { jsonrpc: '2.0', id, error: { code: -32001, message: 'Task not found' } } }
    }
    // Its workers do not heed it.
    if (method === 'tasks/cancel') return reply(task)
    const { state = 'completed', history = [], artifacts } = worked
    task['status'] = { state, timestamp: '2025-07-10T09:00:01.000000' }
    task['history'] = [...(task['history'] as object[]), ...history]
    if (artifacts !== undefined) task['artifacts'] = artifacts
    return reply(task)
  }
  return await site(answer)
}

/** What pydantic would take; what it would not is a 500. */
function isValid({ method, params }: Request, isOld: boolean): boolean {
  if (!['message/send', 'tasks/get', 'tasks/cancel'].includes(method)) return false
  if (JSON.stringify(params).includes('null')) return false
  if (method !== 'message/send') return typeof params.id === 'string'
  const { message, configuration } = params
  if (configuration !== undefined && !Array.isArray(configuration.acceptedOutputModes)) return false
  if (message.role !== 'user' || typeof message['messageId'] !== 'string' || !message.parts) return false
  if (isOld)
    return message['kind'] === 'message' && message.parts.every(({ kind }) => typeof kind === 'string')
  // Parts of 0.3 would be read as empty ones.
  return message.parts.every((part) => ['text', 'raw', 'url', 'data'].some((key) => key in part))
}

function text(status: number, body: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }
}
