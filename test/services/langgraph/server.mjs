/** The LangGraph server, on a free port of loopback. Its files are in the folder that it is started in. */
import { fileURLToPath } from 'node:url'
import { startServer } from '@langchain/langgraph-api/server'

const path = (name) => fileURLToPath(new URL(name, import.meta.url))
const ids = ['echo', 'steps', 'tokens', 'ask', 'fail', 'hold']

process.on('disconnect', () => process.exit())
const { host } = await startServer({
  port: 0,
  host: '127.0.0.1',
  cwd: process.cwd(),
  // Each looks for work about twice a second; the more, the sooner a run begins.
  nWorkers: 20,
  graphs: Object.fromEntries(ids.map((id) => [id, `${path('./graphs.mjs')}:${id}`])),
  ...(process.env.LANGGRAPH_TEST_KEY === undefined ? {} : { auth: { path: `${path('./auth.mjs')}:auth` } }),
})
process.send(`http://${host}`)
