/** Checks of versions, extensions and headers. */

import type { Check } from '../kit/check.js'
import { ensure, ensureEqual } from '../kit/mismatch.js'
import { expectError, expectResult } from '../kit/answers.js'
import { askOverSocket } from '../kit/socket.js'

const only = { version: '1.0' }

export const VERSION_CHECKS: readonly Check[] = [
  {
    id: 'version/unknown',
    title: 'a version that the agent does not speak is refused',
    ...{ spec: '1.0 §3.6.2', only },
    async run({ target }) {
      const params = { message: target.message('echo version') }
      const answer = await target.call('SendMessage', params, { headers: { 'A2A-Version': '99.0' } })
      expectError(target, answer, 'VERSION_NOT_SUPPORTED')
    },
  },
  {
    id: 'version/patch',
    title: 'the patch of a version counts nothing',
    ...{ spec: '1.0 §3.6', only },
    async run({ target }) {
      const params = { message: target.message('echo version') }
      expectResult(await target.call('SendMessage', params, { headers: { 'A2A-Version': '1.0.7' } }))
    },
  },
  {
    id: 'version/header-names',
    title: 'names of headers have no case',
    ...{ spec: '1.0 §3.2.6, RFC 9110 §5.1', only },
    async run({ target }) {
      const body = JSON.stringify(target.bodyOf('echo headers'))
      const others = Object.entries(target.headers).filter(([name]) => name !== 'A2A-Version')
      const head = [
        'a2a-VERSION: 1.0',
        'CONTENT-type: application/json',
        `content-LENGTH: ${Buffer.byteLength(body)}`,
        ...others.map(([name, value]) => `${name}: ${value}`),
      ]
      const answer = await askOverSocket(`${target.url}${target.sendPath}`, { head, pieces: [body] })
      ensureEqual(answer, 'the status', answer.status, 200)
      ensure(answer, answer.json?.error === undefined, 'a result', answer.text)
    },
  },
  {
    id: 'version/unknown-extension',
    title: 'an extension that the agent does not know changes nothing',
    ...{ spec: '1.0 §4.6, §14.2.2', only },
    async run({ target }) {
      const params = { message: target.message('echo extension') }
      const headers = { 'A2A-Extensions': 'https://example.com/extensions/unknown/v1' }
      const answer = await target.call('SendMessage', params, { headers })
      expectResult(answer)
      const activated = answer.headers.get('a2a-extensions') ?? ''
      ensure(answer, !activated.includes('unknown'), 'no activation of it', activated)
    },
  },
  {
    id: 'version/legacy-absent',
    title: 'a client of 0.3 names no version',
    spec: '1.0 §3.6.2',
    only: { version: '0.3' },
    async run({ target }) {
      // An empty header counts as none.
      const params = { message: target.message('echo version') }
      expectResult(await target.call('SendMessage', params, { headers: { 'A2A-Version': '' } }))
    },
  },
]
