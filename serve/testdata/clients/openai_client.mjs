// OpenAI's JavaScript client against a running server:
// node openai_client.mjs http://127.0.0.1:8080/v1 KEY
import assert from "node:assert/strict";
import OpenAI from "openai";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const messages = [{ role: "user", content: "Tell me about a dog." }];
const usual = { model: "default", messages, max_tokens: 16, temperature: 0 };

const whole = await client.chat.completions.create(usual);
assert.equal(whole.choices[0].message.role, "assistant");
assert.equal(whole.usage.completion_tokens, 16);

let text = "", usage;
for await (const c of await client.chat.completions.create({ ...usual, stream: true, stream_options: { include_usage: true } })) {
  text += c.choices[0]?.delta?.content ?? "";
  usage = c.usage ?? usage;
}
assert.equal(text, whole.choices[0].message.content);
assert.equal(usage.completion_tokens, 16);

const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
const called = await client.chat.completions.create({ ...usual, tools });
assert.ok(called.choices[0].finish_reason);

const response = await client.responses.create({ model: "default", input: "Tell me about a dog.", max_output_tokens: 16, temperature: 0 });
let said = "";
for await (const e of await client.responses.create({ model: "default", input: "Tell me about a dog.", max_output_tokens: 16, temperature: 0, stream: true }))
  if (e.type === "response.output_text.delta") said += e.delta;
assert.equal(said, response.output_text);

const vectors = await client.embeddings.create({ model: "default", input: ["a dog", "a cat"] });
assert.equal(vectors.data.length, 2);
assert.ok(vectors.data[0].embedding.every(Number.isFinite));

await assert.rejects(client.chat.completions.create({ ...usual, model: "none-such" }), OpenAI.NotFoundError);
await assert.rejects(client.chat.completions.create({ ...usual, temperature: -1 }), OpenAI.BadRequestError);
await assert.rejects(new OpenAI({ baseURL, apiKey: "wrong-key", maxRetries: 0 }).models.list().then((l) => l.data), OpenAI.AuthenticationError);
console.log("ok openai.mjs");
