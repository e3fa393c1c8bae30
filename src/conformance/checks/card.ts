/** Checks of the card. They run once for an agent. */

import type { CardCheck } from '../kit/check.js'
import { ask } from '../kit/http.js'
import { cardUrlOf, readCard } from '../kit/card.js'
import { describeAnswer, ensure } from '../kit/mismatch.js'

const REQUIRED = [
  'name',
  'description',
  'version',
  'capabilities',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
]
const REQUIRED_OF_SKILLS = ['id', 'name', 'description', 'tags']

const isList = (value: unknown): boolean => Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

export const CARD_CHECKS: readonly CardCheck[] = [
  {
    id: 'card/json',
    title: 'the card is served as JSON',
    spec: '1.0 §8.2',
    async run({ url }) {
      const answer = await readCard(url)
      const type = answer.headers.get('content-type') ?? 'none'
      ensure(answer, /^application\/([\w.-]+\+)?json\b/.test(type), 'a JSON content type', type)
    },
  },
  {
    id: 'card/required-fields',
    title: 'the card has the required fields',
    spec: '1.0 §4.4.1',
    async run({ url }) {
      const answer = await readCard(url)
      const fields = new Map<string, unknown>(Object.entries(answer.json))
      const missing = REQUIRED.filter((name) => (fields.get(name) ?? '') === '')
      ensure(answer, missing.length === 0, 'all required fields', `a card without ${missing.join(', ')}`)
    },
  },
  {
    id: 'card/skills',
    title: 'each skill has an id, a name, a description and tags',
    spec: '1.0 §4.4.5',
    async run({ url }) {
      const answer = await readCard(url)
      const { skills } = answer.json
      const isRight =
        Array.isArray(skills) && skills.every((skill) => REQUIRED_OF_SKILLS.every((name) => name in skill))
      ensure(answer, isRight, `skills with ${REQUIRED_OF_SKILLS.join(', ')}`, skills)
    },
  },
  {
    id: 'card/interfaces',
    title: 'each interface has an absolute URL, a binding and a version',
    spec: '1.0 §4.4.6, §8.3.1',
    when: ({ targets }) => targets.some(({ isModern }) => isModern),
    async run({ url }) {
      const answer = await readCard(url)
      const { supportedInterfaces } = answer.json
      ensure(
        answer,
        supportedInterfaces !== undefined && isList(supportedInterfaces),
        'supportedInterfaces',
        answer.text,
      )
      for (const each of supportedInterfaces) {
        const isRight =
          URL.canParse(each.url) &&
          isText(each.protocolBinding) &&
          /^\d+\.\d+$/.test(each.protocolVersion ?? '')
        ensure(answer, isRight, 'url, protocolBinding, and protocolVersion as Major.Minor', each)
      }
    },
  },
  {
    id: 'card/legacy',
    title: 'a client of 0.3 reads where the agent is, by which transport, in which version',
    spec: '0.3 §5.6.1',
    when: ({ targets }) => targets.some(({ isModern }) => !isModern),
    async run({ url }) {
      const answer = await readCard(url, '0.3')
      const { url: main, preferredTransport, protocolVersion } = answer.json
      const isRight =
        URL.canParse(main ?? '') && isText(preferredTransport) && /^0\.3/.test(protocolVersion ?? '')
      ensure(answer, isRight, 'url, preferredTransport and protocolVersion 0.3', answer.json)
    },
  },
  {
    id: 'card/caching',
    title: 'the card has Cache-Control and ETag',
    spec: '1.0 §8.6.1',
    level: 'should',
    async run({ url }) {
      const answer = await readCard(url)
      const missing = ['cache-control', 'etag'].filter((name) => answer.headers.get(name) === null)
      ensure(answer, missing.length === 0, 'Cache-Control and ETag', `no ${missing.join(', ')}`)
    },
  },
  {
    id: 'card/not-modified',
    title: 'a client that has the card is told so',
    spec: '1.0 §8.6.2, RFC 9110 §13.1.2',
    level: 'should',
    async run({ url }) {
      const { headers } = await readCard(url)
      const etag = headers.get('etag')
      const answer = await ask(cardUrlOf(url), {
        headers: { 'A2A-Version': '1.0', 'If-None-Match': etag ?? '*' },
      })
      ensure(answer, answer.status === 304, 'HTTP 304', describeAnswer(answer))
    },
  },
  {
    id: 'card/methods',
    title: 'the card cannot be posted to',
    spec: 'RFC 9110 §15.5.6',
    level: 'should',
    async run({ url }) {
      const answer = await ask(cardUrlOf(url), { method: 'POST', body: {} })
      ensure(
        answer,
        answer.status >= 400 && answer.status < 500,
        'HTTP 405, or another 4xx',
        describeAnswer(answer),
      )
    },
  },
]
