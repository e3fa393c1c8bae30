/** Options and callbacks of a client that are of the wrong kind. */
import { expect, it } from 'vitest'
import { A2AClient, urlGuard } from '../../src/client/index.js'
import { fakeAgent } from '../../src/testing/index.js'

const remote = fakeAgent((run) => run.requireInput('?').then(() => 'done'))

it('the factory of guards is refused as a guard, and a guard that returns a value blocks', async () => {
  for (const guard of [urlGuard, () => false, () => true]) {
    const options = { fetch: remote.fetch, urlGuard: guard as never }
    await expect(A2AClient.connect(remote.url, options)).rejects.toMatchObject({ code: 'URL_BLOCKED' })
  }
})

it('a wrong answer of onInputRequired is an error of the caller, and cancels the task', async () => {
  const client = new A2AClient({ card: remote.card, fetch: remote.fetch })
  const onInputRequired = () => 5 as never
  await expect(client.run('go', { onInputRequired })).rejects.toThrow(
    'message must be a text, or an object with parts',
  )
  expect(remote.tasks.listTasks().map(({ state }) => state)).toEqual(['canceled'])
})

it.each([
  [{ headers: new Headers({ a: 'b' }) }, '"headers" must be an object of texts'],
  [{ headers: { a: undefined } }, '"headers" must be an object of texts'],
  [{ auth: 'secret' }, '"auth" must have apply()'],
  [{ protocolVersions: '1.0' }, '"protocolVersions" must be an array'],
  [{ url: 'https://a.test' }, 'A2AClient.connect(url)'],
])('options of a wrong type are refused (%#)', (options, text) => {
  expect(() => new A2AClient(options as never)).toThrow(text)
})
