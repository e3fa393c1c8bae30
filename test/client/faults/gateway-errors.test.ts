/** Error responses, of gateways and others, that do not say whether the agent has received the message. */
import { describe, expect, it } from 'vitest'
import { A2AClient } from '../../../src/client/index.js'

const CARD = {
  name: 'Sly',
  supportedInterfaces: [{ url: 'https://sly.test', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
}

const retry = { baseDelayMs: 1, maxDelayMs: 2 }

const done = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }

type Answer = (params: Record<string, unknown>) => Response | Promise<Response>

/** An agent that answers each method as scripted, and how often it was asked. */
function scripted(answers: Readonly<Record<string, Answer>>) {
  const asked: string[] = []
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    const { method, params } = JSON.parse(init.body as string) as {
      method: string
      params: Record<string, unknown>
    }
    asked.push(method)
    const answer = answers[method]
    if (answer === undefined) throw new TypeError(`No answer to ${method}`)
    return await answer(params)
  }
  return { fetch, asked }
}

const result = (json: unknown) => (): Response => Response.json({ jsonrpc: '2.0', id: null, result: json })

const failure =
  (error: object, status = 200) =>
  (): Response =>
    Response.json({ jsonrpc: '2.0', id: null, error }, { status })

describe('a message whose answer says nothing of it', () => {
  /** The task is there, whatever was answered: it is to be found, and not made again. */
  async function submissions(answer: Answer): Promise<unknown> {
    const { fetch, asked } = scripted({
      SendMessage: answer,
      ListTasks: ({ contextId }) => result({ tasks: [{ ...done, contextId }] })(),
      GetTask: result(done),
    })
    const { type } = await new A2AClient({ card: CARD, fetch, retry }).run('go')
    return [type, asked.filter((method) => method === 'SendMessage').length]
  }

  it.each([
    [
      'a 504 in the JSON of a gateway',
      () => Response.json({ code: 504, message: 'upstream request timeout' }, { status: 504 }),
    ],
    ['a 500 in the JSON of a gateway', () => Response.json({ code: 14 }, { status: 500 })],
  ] as const)('%s', async (_name, answer) => {
    expect(await submissions(answer)).toEqual(['completed', 1])
  })

  it('is an error at once when the answer is 200, and its error is none of A2A', async () => {
    expect(await submissions(failure({ code: 503, message: 'reset' }))).toEqual(['error', 1])
  })

  it('is not sent again when the agent reports a fault of another agent', async () => {
    expect(await submissions(failure({ code: -32006, message: 'My helper is mad' }))).toEqual(['error', 1])
  })

  it('is refused with its conversation when it comes twice, and not sent a third time', async () => {
    let sent = 0
    const { fetch, asked } = scripted({
      SendMessage: () => {
        if (++sent === 1) throw new TypeError('terminated')
        return failure({ code: -32602, message: 'contextId in use' })()
      },
      ListTasks: result({ tasks: [] }),
    })
    expect(await new A2AClient({ card: CARD, fetch, retry }).run('go')).toMatchObject({ type: 'error' })
    expect(asked.filter((method) => method === 'SendMessage')).toHaveLength(2)
  })
})
