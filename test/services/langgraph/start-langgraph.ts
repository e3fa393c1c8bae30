/**
 * The real LangGraph server, `@langchain/langgraph-api`, with the graphs of `graphs.mjs`.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChildProgram } from '../child-program.js'

/** What must be installed for it, and for its official client: see `isInstalled`. */
export const LANGGRAPH_PACKAGES = [
  '@langchain/core',
  '@langchain/langgraph',
  '@langchain/langgraph-api',
  '@langchain/langgraph-sdk',
]

export interface LangGraphServer {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string
  /** Where it keeps its files; gone when it has stopped. */
  readonly folder: string
  /** Ends it, whatever runs. */
  stop(): Promise<void>
}

/** Starts a server with graphs of its own, and no runs. With an `apiKey`, it answers 401 to who does not send it. */
export async function startLangGraph({
  apiKey,
}: { readonly apiKey?: string } = {}): Promise<LangGraphServer> {
  // It keeps its runs in a folder `.langgraph_api` of where it is started.
  const folder = await mkdtemp(join(tmpdir(), 'langgraph-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const server = await startChildProgram(new URL('server.mjs', import.meta.url), folder, {
      LANGSMITH_TRACING: 'false',
      LOG_LEVEL: 'error',
      ...(apiKey === undefined ? {} : { LANGGRAPH_TEST_KEY: apiKey }),
    })
    return { url: server.url, folder, stop: () => server.stop().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}
