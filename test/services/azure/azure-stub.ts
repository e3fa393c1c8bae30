/**
 * A project of Azure AI Foundry, for tests: the classic threads and runs and the Responses API, over loopback, by
 * script. Proved by `azure.test.ts` with the official clients; see README.md.
 *
 * @module
 */
import { bearerOf, sendJson, startStubServer, type StubServer } from '../stub-server.js'
import { Responses } from './responses.js'
import type { Step } from './script.js'
import { Threads } from './threads.js'
import { sendError, Shared } from './wire.js'

export type { Step, ToolCall } from './script.js'

export interface AzureStub extends StubServer {
  /** The project's endpoint over http, as a user would configure it, and over https. */
  readonly endpoint: string
  readonly tlsEndpoint: string
  readonly token: string
  readonly assistantId: string
  /** The name of the agent of the Responses API. */
  readonly agentName: string
  /** What the next run, or response, that has no script yet does. Without one: in_progress, `Hello`, completed. */
  script(...steps: Step[]): void
  /** What a cancelled run does after `cancelling`, from now on; `cancelled` unless said. */
  onCancel(...steps: Step[]): void
}

const PROJECT = '/api/projects/project'

export async function startAzureStub({ token = 'entra-token' } = {}): Promise<AzureStub> {
  const assistantId = 'asst_1'
  const agentName = 'agent'
  const shared = new Shared()
  const threads = new Threads(shared, assistantId)
  const responses = new Responses(shared)
  const agentBase = `${PROJECT}/agents/${agentName}/endpoint/protocols/openai`
  const server = await startStubServer(async (request, response) => {
    const bearer = bearerOf(request)
    if (bearer !== token) {
      const message = bearer === undefined ? 'No bearer token was given.' : 'The bearer token is not valid.'
      sendJson(response, 401, { error: { code: 'Unauthorized', message } })
      return
    }
    const { path } = request
    const below = (base: string): string[] | undefined =>
      path.startsWith(`${base}/`)
        ? path
            .slice(base.length + 1)
            .split('/')
            .map(decodeURIComponent)
        : undefined
    const openAI = below(`${PROJECT}/openai/v1`) ?? below(agentBase)
    const version = request.query.get('api-version')
    if (openAI) {
      if (await responses.answer(request, openAI, response)) return
    } else if (version === null) {
      sendJson(response, 400, {
        error: { code: 'BadRequest', message: 'The api-version query parameter is missing.' },
      })
      return
    } else if (await threads.answer(request, below(PROJECT) ?? [], response)) return
    sendError(response, 404, 'Resource not found')
  })
  return Object.assign(server, {
    endpoint: `${server.url}${PROJECT}`,
    tlsEndpoint: `${server.tlsUrl}${PROJECT}`,
    token,
    assistantId,
    agentName,
    script: (...steps: Step[]) => void shared.scripts.push(steps),
    onCancel: (...steps: Step[]) => void (shared.onCancel = steps),
  })
}
