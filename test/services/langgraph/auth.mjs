/** Authentication by the key of `LANGGRAPH_TEST_KEY` in `x-api-key`. */
import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth'

export const auth = new Auth().authenticate((request) => {
  if (request.headers.get('x-api-key') !== process.env.LANGGRAPH_TEST_KEY) {
    throw new HTTPException(401, { message: 'Invalid API key' })
  }
  return { identity: 'tester', permissions: [] }
})
