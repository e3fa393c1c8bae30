type Fetch = (request: Request) => Promise<Response>

export function createAgents(): { readonly fetchFor: (url: string) => Fetch; readonly fetch: Fetch }
