/** The program of the guide to AG-UI. */
import { describeWith } from '../installed.js'
import { testPrograms } from '../programs.js'

describeWith('@ag-ui/client', () => {
  testPrograms({
    page: 'docs/guides/ag-ui.md',
    mark: 'ag-ui',
    packages: ['@ag-ui'],
    uses: `
import { createAgUiHandler, type AgUiAgent, type AgUiClient, type AgUiOptions } from 'a2a-tasks/ag-ui'
import { A2AClient } from 'a2a-tasks/client'
import { toNodeListener } from 'a2a-tasks/server/node'

const options: AgUiOptions = { onDisconnect: 'cancel', timeoutMs: 1_000 }
const agent: AgUiAgent = await A2AClient.connect('https://agent.example')
const client: AgUiClient = (request) => (request.headers.has('x') ? agent : new Response(null, { status: 401 }))
toNodeListener(createAgUiHandler(client, options))
createAgUiHandler(A2AClient.connect('https://agent.example'))
// @ts-expect-error A URL is no client.
createAgUiHandler('https://agent.example')
`,
  })
})
