/** The graphs of the server. None needs a model that is not here. */
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { AIMessage } from '@langchain/core/messages'
import { END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'

const say = (text) => ({ messages: [new AIMessage(text)] })
const lastText = (state) => state.messages.at(-1).text

/** A graph of nodes that follow each other. */
function sequence(nodes) {
  const graph = new StateGraph(MessagesAnnotation)
  let last = START
  for (const [name, node] of Object.entries(nodes)) {
    graph.addNode(name, node).addEdge(last, name)
    last = name
  }
  return graph.addEdge(last, END).compile()
}

export const echo = sequence({ reply: (state) => say(`You said: ${lastText(state)}`) })

/** Three updates, the second with custom data. */
export const steps = sequence({
  first: () => say('one'),
  second: (_, { writer }) => {
    writer?.({ progress: 0.5 })
    return say('two')
  },
  third: () => say('three'),
})

/** One message in pieces, as from a model: `messages-tuple` streams them. */
export const tokens = sequence({
  model: async (state) => ({
    messages: [await new FakeListChatModel({ responses: ['Hello, you'] }).invoke(state.messages)],
  }),
})

export const ask = sequence({
  ask: () => say(`You chose ${JSON.stringify(interrupt({ question: 'Which colour?' }))}`),
})

/** Says something, then fails. */
export const fail = sequence({
  begin: () => say('So far so good'),
  break: () => {
    throw new Error('boom')
  },
})

/** Says something, then works until it is cancelled. */
export const hold = sequence({
  begin: () => say('Working'),
  hold: (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }),
})
