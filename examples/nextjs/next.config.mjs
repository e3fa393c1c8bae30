/** Clients that only know the host look for the card at its root. */
const cardAtTheRoot = {
  source: '/.well-known/agent-card.json',
  destination: '/agent/.well-known/agent-card.json',
}

export default { rewrites: () => Promise.resolve([cardAtTheRoot]) }
