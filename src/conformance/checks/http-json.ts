/** Checks of the HTTP+JSON binding: paths, methods, queries and errors. */

import type { Check } from '../kit/check.js'
import { ask, type Request } from '../kit/http.js'
import { describeAnswer, ensure, ensureEqual } from '../kit/mismatch.js'
import { expectError, expectResult, reasonOf, resultOf } from '../kit/answers.js'
import type { Called } from '../kit/answers.js'
import type { Target } from '../kit/targets.js'
import { plainTask, sentTask } from '../kit/tasks.js'

const only = { binding: 'HTTP+JSON', version: '1.0' }
const UNKNOWN = 'there-is-no-such-task'

/** Asks a path below the URL of the interface. */
async function askPath(
  target: Target,
  path: string,
  { method = 'GET', headers = {}, body }: Request = {},
): Promise<Called> {
  const answer = await ask(`${target.url}${path}`, {
    method,
    headers: { ...target.headers, ...headers },
    body,
  })
  return { ...answer, ...resultOf(target, answer) }
}

export const HTTP_JSON_CHECKS: readonly Check[] = [
  {
    id: 'http-json/content-type',
    title: 'an answer is application/a2a+json or application/json',
    spec: '1.0 §11.1',
    only,
    async run({ target }) {
      const answer = await target.send('echo type')
      const type = answer.headers.get('content-type') ?? 'none'
      ensure(
        answer,
        /^application\/(a2a\+)?json\b/.test(type),
        'application/a2a+json or application/json',
        type,
      )
    },
  },
  {
    id: 'http-json/accepts-json',
    title: 'a body may be application/json or application/a2a+json',
    spec: '1.0 §11.1',
    only,
    async run({ target }) {
      for (const type of ['application/json', 'application/a2a+json', 'application/json; charset=utf-8']) {
        expectResult(await target.post(target.bodyOf('echo type'), { headers: { 'Content-Type': type } }))
      }
    },
  },
  {
    id: 'http-json/other-type',
    title: 'a body of another content type is refused',
    spec: '1.0 §5.4, §11.1',
    level: 'should',
    only,
    async run({ target }) {
      const body = JSON.stringify(target.bodyOf('echo type'))
      const answer = await target.post(body, { headers: { 'Content-Type': 'text/plain' } })
      expectError(target, answer, 'CONTENT_TYPE_NOT_SUPPORTED')
    },
  },
  {
    id: 'http-json/error',
    title: 'an error is a google.rpc.Status with an ErrorInfo',
    spec: '1.0 §11.6',
    only,
    async run({ target }) {
      const answer = await target.call('GetTask', { id: UNKNOWN })
      const error = expectError(target, answer, 'TASK_NOT_FOUND')
      ensureEqual(answer, 'error.status', error.status, 'NOT_FOUND')
      ensureEqual(answer, 'the reason', reasonOf(error), 'TASK_NOT_FOUND')
      const info = error.details?.find((detail) => detail.reason !== undefined)
      ensureEqual(answer, 'the domain', info?.domain, 'a2a-protocol.org')
    },
  },
  {
    id: 'http-json/no-json',
    title: 'a body that is no JSON is an invalid argument',
    spec: '1.0 §3.3.2, §11.6',
    only,
    async run({ target }) {
      const answer = await target.post('{"message": ')
      ensure(
        answer,
        answer.status === 400 && answer.error != null,
        'HTTP 400 and an error',
        describeAnswer(answer),
      )
      ensureEqual(answer, 'error.code', answer.error.code, 400)
    },
  },
  {
    id: 'http-json/empty-body',
    title: 'a message needs a body',
    spec: '1.0 §3.3.2',
    only,
    async run({ target }) {
      const answer = await target.post('')
      ensure(answer, answer.status === 400, 'HTTP 400', describeAnswer(answer))
    },
  },
  {
    id: 'http-json/unknown-path',
    title: 'an unknown path is not found',
    spec: '1.0 §11.3',
    only,
    async run({ target }) {
      const answer = await askPath(target, '/no/such/path/here')
      ensure(answer, answer.status === 404, 'HTTP 404', describeAnswer(answer))
    },
  },
  {
    id: 'http-json/methods',
    title: 'a path refuses methods that it does not have',
    spec: 'RFC 9110 §15.5.6',
    level: 'should',
    only,
    async run({ target }) {
      for (const [method, path] of [
        ['GET', '/message:send'],
        ['PUT', '/tasks'],
        ['DELETE', `/tasks/${UNKNOWN}`],
      ] as const) {
        const answer = await askPath(target, path, { method })
        ensure(answer, [404, 405].includes(answer.status), 'HTTP 405 or 404', describeAnswer(answer))
      }
    },
  },
  {
    id: 'http-json/encoded-id',
    title: 'an id may be percent-encoded, and no encoding breaks the server',
    spec: '1.0 §11.5, RFC 3986 §2.1',
    only,
    async run({ target }) {
      const task = sentTask(await target.send('echo encoded'))
      const encoded = Array.from(task.id, (character) => `%${character.charCodeAt(0).toString(16)}`).join('')
      const found = await askPath(target, `/tasks/${encoded}`)
      ensureEqual(found, 'the id', plainTask(found).id, task.id)
      for (const id of ['%2e%2e%2fsecret', '%00', 'a%20b']) {
        expectError(target, await askPath(target, `/tasks/${id}`), 'TASK_NOT_FOUND', 'INVALID_PARAMS')
      }
      const broken = await askPath(target, '/tasks/%E0%A4%A')
      ensure(
        broken,
        broken.status === 400 || broken.status === 404,
        'HTTP 400 or 404',
        describeAnswer(broken),
      )
    },
  },
  {
    id: 'http-json/query',
    title: 'a query that has no number where one belongs is an invalid argument',
    spec: '1.0 §11.5, §3.3.2',
    only,
    async run({ target }) {
      const { id } = sentTask(await target.send('echo query'))
      for (const path of [`/tasks/${id}?historyLength=many`, '/tasks?pageSize=many', '/tasks?status=DONE']) {
        expectError(target, await askPath(target, path), 'INVALID_PARAMS')
      }
    },
  },
  {
    id: 'http-json/cancel-bodies',
    title: 'cancel accepts no body, an empty one, and {}',
    spec: '1.0 §11.3.2',
    only,
    async run({ target }) {
      const headers = { 'Content-Type': 'application/json' }
      for (const init of [{}, { headers, body: '' }, { headers, body: '{}' }]) {
        const { id } = sentTask(await target.send('wait', { configuration: { returnImmediately: true } }))
        const answer = await askPath(target, `/tasks/${id}:cancel`, { method: 'POST', ...init })
        ensureEqual(answer, 'the id', plainTask(answer).id, id)
      }
    },
  },
  {
    id: 'http-json/extended-card',
    title: 'an agent without an extended card says so',
    spec: '1.0 §3.1.11, §11.3.4',
    only,
    when: ({ card }) => card.capabilities?.extendedAgentCard !== true,
    async run({ target }) {
      expectError(target, await target.call('GetExtendedAgentCard'), 'UNSUPPORTED_OPERATION')
    },
  },
]
