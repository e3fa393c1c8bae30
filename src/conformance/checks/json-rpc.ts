/** Checks of the envelope and the errors of JSON-RPC. */

import type { Check, Spec } from '../kit/check.js'
import { ask } from '../kit/http.js'
import { describeAnswer, ensure, ensureEqual } from '../kit/mismatch.js'
import { expectError, expectResult, reasonOf, type ErrorName } from '../kit/answers.js'
import type { Target } from '../kit/targets.js'
import type { WireErrorInfo } from '../kit/wire.js'

const only = { binding: 'JSONRPC' }
const ENVELOPE = { '1.0': '§9.3, JSON-RPC 2.0 §5', 0.3: '§6.11' }
const ERRORS_SPEC = { '1.0': '§9.5', 0.3: '§8.1' }
const UNKNOWN = 'there-is-no-such-task'

const methodOf = ({ isModern }: Target): string => (isModern ? 'GetTask' : 'tasks/get')
const envelope = (target: Target, more: object = {}): object => ({
  jsonrpc: '2.0',
  id: 'check',
  method: methodOf(target),
  params: { id: UNKNOWN },
  ...more,
})

/** A check that a body leads to an error, with an id. */
function refused(
  id: string,
  title: string,
  bodyOf: (target: Target) => unknown,
  error: ErrorName,
  { expectedId, spec = ERRORS_SPEC }: { readonly expectedId?: string | null; readonly spec?: Spec } = {},
): Check {
  return {
    ...{ id: `json-rpc/${id}`, title, spec, only },
    async run({ target }) {
      const answer = await target.post(bodyOf(target))
      expectError(target, answer, error)
      if (expectedId !== undefined) ensureEqual(answer, 'the id', answer.json?.id, expectedId)
    },
  }
}

export const JSON_RPC_CHECKS: readonly Check[] = [
  {
    id: 'json-rpc/id-text',
    title: 'an id that is a text comes back',
    spec: ENVELOPE,
    only,
    async run({ target }) {
      const answer = await target.post(envelope(target, { id: 'a text' }))
      ensureEqual(answer, 'the id', answer.json?.id, 'a text')
    },
  },
  {
    id: 'json-rpc/id-number',
    title: 'an id that is a number comes back as a number, 0 included',
    spec: ENVELOPE,
    only,
    async run({ target }) {
      for (const id of [7, 0]) {
        const answer = await target.post(envelope(target, { id }))
        ensureEqual(answer, 'the id', answer.json?.id, id)
      }
    },
  },
  {
    id: 'json-rpc/envelope',
    title: 'an answer has jsonrpc 2.0, the id, and either a result or an error',
    spec: ENVELOPE,
    only,
    async run({ target }) {
      const sent = await target.send('echo envelope')
      ensureEqual(sent, 'the members', Object.keys(sent.json ?? {}).sort(), ['id', 'jsonrpc', 'result'])
      const failed = await target.call('GetTask', { id: UNKNOWN })
      ensureEqual(failed, 'the members', Object.keys(failed.json ?? {}).sort(), ['error', 'id', 'jsonrpc'])
      ensureEqual(failed, 'jsonrpc', failed.json?.jsonrpc, '2.0')
    },
  },
  {
    id: 'json-rpc/content-type',
    title: 'an answer is application/json',
    spec: { '1.0': '§9.1', 0.3: '§3.2.1' },
    only,
    async run({ target }) {
      const answer = await target.send('echo type')
      const type = answer.headers.get('content-type') ?? 'none'
      ensure(answer, type.startsWith('application/json'), 'application/json', type)
    },
  },
  refused(
    'no-json',
    'a body that is no JSON is a parse error, without an id',
    () => '{"jsonrpc": ',
    'PARSE_ERROR',
    {
      expectedId: null,
    },
  ),
  refused('empty-body', 'an empty body is a parse error', () => '', 'PARSE_ERROR', { expectedId: null }),
  refused('no-object', 'a number is no request', () => '42', 'INVALID_REQUEST', { expectedId: null }),
  refused('batch', 'a batch is no request of A2A', (target) => [envelope(target)], 'INVALID_REQUEST', {
    spec: { '1.0': '§9.3', 0.3: '§6.11.1' },
  }),
  refused(
    'other-version',
    'jsonrpc must be 2.0',
    (target) => envelope(target, { jsonrpc: '1.0' }),
    'INVALID_REQUEST',
    {
      expectedId: 'check',
    },
  ),
  refused(
    'no-method',
    'a request has a method',
    (target) => envelope(target, { method: undefined }),
    'INVALID_REQUEST',
    {
      expectedId: 'check',
    },
  ),
  refused(
    'unknown-method',
    'an unknown method is told',
    (target) => envelope(target, { method: 'NoSuchMethod' }),
    'METHOD_NOT_FOUND',
    {
      expectedId: 'check',
    },
  ),
  refused(
    'params-array',
    'parameters are an object',
    (target) => envelope(target, { params: [] }),
    'INVALID_PARAMS',
    {
      expectedId: 'check',
    },
  ),
  refused(
    'params-missing',
    'GetTask needs an id',
    (target) => envelope(target, { params: {} }),
    'INVALID_PARAMS',
    {
      expectedId: 'check',
    },
  ),
  refused(
    'params-type',
    'an id of a task is a text',
    (target) => envelope(target, { params: { id: { text: 'x' } } }),
    'INVALID_PARAMS',
    { expectedId: 'check' },
  ),
  {
    id: 'json-rpc/error-details',
    title: 'the data of an error is a list that has an ErrorInfo',
    spec: '1.0 §9.5',
    level: 'should',
    only: { binding: 'JSONRPC', version: '1.0' },
    async run({ target }) {
      const answer = await target.call('GetTask', { id: UNKNOWN })
      const error = expectError(target, answer, 'TASK_NOT_FOUND')
      const details: unknown = error.data
      const isTyped =
        Array.isArray(details) && details.every((each: WireErrorInfo) => typeof each['@type'] === 'string')
      ensure(answer, isTyped, 'a list of objects with @type', details)
      ensureEqual(answer, 'the reason', reasonOf(error), 'TASK_NOT_FOUND')
    },
  },
  {
    id: 'json-rpc/card-without-params',
    title: 'GetExtendedAgentCard needs no params',
    spec: { '1.0': '§9.4.8', 0.3: '§7.10' },
    only,
    async run({ target, card }) {
      const method = target.isModern ? 'GetExtendedAgentCard' : 'agent/getAuthenticatedExtendedCard'
      const answer = await target.post({ jsonrpc: '2.0', id: 'check', method })
      if (card.capabilities?.extendedAgentCard === true) {
        const isAllowed = answer.result !== undefined || answer.status === 401 || answer.status === 403
        ensure(answer, isAllowed, 'a card, or a question for credentials', describeAnswer(answer))
        return
      }
      // 0.3 names one error for a card that is not configured; its servers answer with either.
      expectError(
        target,
        answer,
        'UNSUPPORTED_OPERATION',
        ...(target.isModern ? [] : (['EXTENDED_AGENT_CARD_NOT_CONFIGURED'] as const)),
      )
    },
  },
  {
    id: 'json-rpc/get',
    title: 'the endpoint refuses GET',
    spec: 'RFC 9110 §15.5.6',
    level: 'should',
    only,
    async run({ target }) {
      const answer = await ask(target.url, { headers: target.headers })
      ensure(
        answer,
        answer.status >= 400 && answer.status < 500,
        'HTTP 405, or another 4xx',
        describeAnswer(answer),
      )
    },
  },
  {
    id: 'json-rpc/other-type',
    title: 'a body of another content type is refused',
    spec: { '1.0': '§9.1', 0.3: '§3.2.1' },
    level: 'should',
    only,
    async run({ target }) {
      const answer = await target.post(JSON.stringify(envelope(target)), {
        headers: { 'Content-Type': 'text/plain' },
      })
      const isRefused = answer.status === 415 || answer.error?.code === -32005
      ensure(answer, isRefused, 'HTTP 415 or code -32005', describeAnswer(answer))
    },
  },
  {
    id: 'json-rpc/charset',
    title: 'a content type may name its charset',
    spec: 'RFC 9110 §8.3',
    only,
    async run({ target }) {
      const headers = { 'Content-Type': 'application/json; charset=utf-8' }
      expectResult(await target.post(target.bodyOf('echo charset'), { headers }))
    },
  },
]
