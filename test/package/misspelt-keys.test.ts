/** Misspelt keys deep in what a program passes. */
import { TaskManager } from 'a2a-tasks'
import { buildAgentCard } from 'a2a-tasks/agent-card'
import { A2AClient } from 'a2a-tasks/client'
import { createTaskManagerHandler, LocalTaskManager } from 'a2a-tasks/compat'
import { createRequestHandler } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { thrown } from '../support/manager.js'

const card = { name: 'Echo', url: 'https://echo.example' }
const skill = { id: 's', name: 'S', description: 'S', tags: ['s'] }
const refused = (path: string): object => ({
  code: 'INVALID_PARAMS',
  data: {
    path,
    reason: expect.stringMatching(/^is unknown(, did you mean "\w+"\?)?; known are \w+/) as string,
  },
})

describe('a card refuses', () => {
  test.each<[string, object]>([
    ['card.capability', { capability: {} }],
    ['card.capabilities.pushNotification', { capabilities: { pushNotification: true } }],
    ['card.capabilities.extensions[0].url', { capabilities: { extensions: [{ url: 'https://x.example' }] } }],
    ['card.provider.name', { provider: { name: 'Acme', organization: 'Acme', url: 'https://acme.example' } }],
    ['card.skills[1].tag', { skills: [skill, { ...skill, tag: 'x' }] }],
    [
      'card.supportedInterfaces[0].transport',
      {
        supportedInterfaces: [
          { url: 'https://x.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0', transport: 'x' },
        ],
      },
    ],
    [
      'card.securitySchemes.key.apiKeySecurityScheme.in',
      { securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x', in: 'header' } } } },
    ],
    [
      'card.securitySchemes.sso.oauth2SecurityScheme.flows.clientCredentials.tokenURL',
      {
        securitySchemes: {
          sso: {
            oauth2SecurityScheme: {
              flows: { clientCredentials: { tokenUrl: 'https://x.example', scopes: {}, tokenURL: 'x' } },
            },
          },
        },
      },
    ],
    ['card.securityRequirements[0].scheme', { securityRequirements: [{ scheme: { key: {} } }] }],
    [
      'card.skills[0].securityRequirements[0].schemes.key.scopes',
      { skills: [{ ...skill, securityRequirements: [{ schemes: { key: { scopes: [] } } }] }] },
    ],
  ])('%s', (path, misspelt) => {
    const wrong = { ...card, ...misspelt }
    for (const make of [
      () => buildAgentCard(wrong),
      () => createRequestHandler({ card: wrong, execute: () => 'x' }),
      () => fakeAgent('x', { card: wrong }),
      () => createTaskManagerHandler({ card: wrong, taskManager: new LocalTaskManager(() => 'x') }),
    ])
      expect(thrown(make)).toMatchObject(refused(path))
  })

  test('no key that the specification leaves open', () => {
    const capabilities = { extensions: [{ uri: 'https://x.example', params: { any: { thing: null } } }] }
    const securitySchemes = { any: { httpAuthSecurityScheme: { scheme: 'bearer' } } }
    const signatures = [{ protected: 'p', signature: 's', header: { any: 1 } }]
    const open = { capabilities, securitySchemes, signatures }
    expect(buildAgentCard({ ...card, ...open })).toMatchObject(open)
  })
})

test('a card without an address is refused', () => {
  const execute = (): string => 'x'
  expect(thrown(() => createRequestHandler({ card: { name: 'Echo' }, execute } as never))).toMatchObject({
    code: 'INVALID_PARAMS',
    message: 'card.url is missing: pass the URL of the agent, such as https://agent.example',
  })
})

describe('messages and artifacts refuse', () => {
  const parts = [{ text: 'x' }]
  const tasks = new TaskManager()
  const { id } = tasks.createTask({ skill: 's' })
  test.each<[string, () => unknown]>([
    [
      'artifact.parts[0].mediatype',
      () => tasks.appendArtifact(id, { parts: [{ text: 'x', mediatype: 'x' } as never] }),
    ],
    ['message.metdata', () => tasks.addMessage(id, { role: 'user', parts, metdata: {} } as never)],
    [
      'message.parts[0].name',
      () => tasks.addMessage(id, { role: 'user', parts: [{ text: 'x', name: 'x' }] } as never),
    ],
  ])('%s', (path, call) => {
    expect(thrown(call)).toMatchObject(refused(path))
  })

  test('parts without content', () => {
    const call = (): unknown => tasks.addMessage(id, { role: 'user', parts: [{ txt: 'x' }] } as never)
    expect(thrown(call)).toMatchObject({
      message: 'message.parts[0] must have exactly one of text, raw, url, data, got "txt"',
    })
  })

  test('no key of metadata or of an artifact', () => {
    const metadata = { any: { thing: null } }
    tasks.addMessage(id, { role: 'user', parts: [{ text: 'x', metadata }], metadata })
    tasks.appendArtifact(id, { artifactId: 'a', parts, rating: 5, metadata })
    expect(tasks.getTask(id)?.artifacts).toEqual([{ artifactId: 'a', parts, rating: 5, metadata }])
  })
})

describe('a client refuses', () => {
  test.each<[string, object]>([
    ['message.taskID', { parts: [{ text: 'x' }], taskID: 't' }],
    ['message.parts[0].txt', { parts: [{ txt: 'x' }] }],
    ['message.parts[1].mimeType', { parts: [{ text: 'x' }, { text: 'x', mimeType: 'text/plain' }] }],
  ])('%s', async (path, message) => {
    const agent = fakeAgent('x')
    const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
    await expect(client.run(message as never)).rejects.toMatchObject(refused(path))
    await expect(client.send(message as never)).rejects.toMatchObject(refused(path))
    expect(agent.requests).toEqual([])
  })
})

test('the arguments of run methods are checked too', async () => {
  const errors: unknown[] = []
  const agent = fakeAgent((run) => run.complete({ parts: [{ text: 'x', mime: 'x' }] } as never), {
    onError: (error) => errors.push(error),
  })
  const client = new A2AClient({ card: agent.card, fetch: agent.fetch })
  expect(await client.run('hello')).toMatchObject({ type: 'failed' })
  expect(errors).toMatchObject([refused('message.parts[0].mime')])
})
