// Questions to the server, each with the token of the page's address.
export const token = () => location.hash.slice(1);

// A link to another page of ours, with the token as it is when it is followed.
export function carry(link, path) {
  link.addEventListener("click", () => { link.href = `${path}#${token()}`; });
}

export class Gone extends Error {}

export async function ask(path, body) {
  const options = { headers: { "X-Safegain-Token": token() }, cache: "no-store" };
  if (body !== undefined) Object.assign(options, { method: "POST", body: body instanceof Blob ? body : JSON.stringify(body) });
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Gone("away");
  }
  if (response.status === 403) throw new Gone("token");
  const answer = await response.json().catch(() => ({ error: `the server failed (${response.status})` }));
  return { status: response.status, answer };
}

export async function get(path) {
  const { status, answer } = await ask(path);
  if (status !== 200) throw new Error(answer.error);
  return answer;
}
