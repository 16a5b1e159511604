import type { z } from 'zod'
import { ReplyError, refuse } from '../http/reply.ts'
import { type Request, readJson } from '../http/request.ts'

/** Reads and checks what a test asks for; anything wrong answers 400 and names every field. */
export async function readSteering<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const parsed = schema.safeParse(await readJson(request))
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`)
  throw new ReplyError(refuse(400, problems.join('; ')))
}
