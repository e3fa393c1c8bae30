/** An agent below a path of a NestJS application, behind a guard. The agent gets the user that the guard has found. */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import 'reflect-metadata'
import { All, Controller, Get, Module, Req, Res, UnauthorizedException, UseGuards } from '@nestjs/common'
import type { BeforeApplicationShutdown, CanActivate, ExecutionContext } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { SendMessageResponse } from 'a2a-tasks/schemas'
import { createRequestHandler, type Principal } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

type AppRequest = IncomingMessage & { user?: Principal }

/** Use your own guard instead, such as one of Passport. It sets `request.user`. */
class TokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<AppRequest>()
    if (request.headers.authorization !== 'Bearer token-a') throw new UnauthorizedException()
    request.user = { id: 'ada' }
    return true
  }
}

const handler = createRequestHandler({
  // The URL that clients use, which can be that of a proxy. The handler needs only its path.
  card: { name: 'Echo', url: 'https://agent.example/agent' },
  execute: (run) => `${run.principal?.id} said: ${run.text}`,
})
const listener = toNodeListener(handler.fetch, { principal: (request: AppRequest) => request.user })

@Controller()
class AgentController implements BeforeApplicationShutdown {
  // Clients read the card before they have a token, so it has no guard.
  @Get(['.well-known/agent-card.json', 'agent/.well-known/agent-card.json'])
  card(@Req() request: IncomingMessage, @Res() response: ServerResponse): void {
    listener(request, response)
  }

  @All(['agent', 'agent/*path'])
  @UseGuards(TokenGuard)
  agent(@Req() request: AppRequest, @Res() response: ServerResponse): void {
    listener(request, response)
  }

  // `close` ends open streams. Without it, NestJS would wait for them after this hook.
  async beforeApplicationShutdown(): Promise<void> {
    await handler.close()
  }
}

@Module({ controllers: [AgentController] })
class AppModule {}

const app = await NestFactory.create(AppModule)
await app.listen(0, '127.0.0.1')
const agent = `${await app.getUrl()}/agent`
assert.equal((await fetch(`${agent}/.well-known/agent-card.json`)).status, 200)
assert.equal((await fetch(`${agent}/tasks`)).status, 401)

const headers = { authorization: 'Bearer token-a', 'content-type': 'application/json' }
function post(operation: string, text: string): Promise<Response> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  return fetch(`${agent}/message:${operation}`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ message }),
  })
}
const { task } = (await (await post('send', 'one')).json()) as SendMessageResponse
assert.equal(task?.artifacts?.[0]?.parts[0]?.text, 'ada said: one')

const stream = await post('stream', 'two')
assert.equal(stream.headers.get('content-type'), 'text/event-stream')
const events = await stream.text()
assert.match(events, /ada said: two/)
console.log(events)
await app.close()
