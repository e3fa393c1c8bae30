type Fetch = (request: Request) => Promise<Response>

export function createAgents(url?: string): {
  readonly fetchFor: (url: string) => Fetch
  readonly fetch: Fetch
}
