// Restate's ingress, called over HTTP with kept connections. Option: its port.
import http from 'node:http';

export async function open({ options: [port] }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 512 });
  return order => new Promise((done, failed) => {
    const body = JSON.stringify(order);
    const request = http.request(
      { host: '127.0.0.1', port, method: 'POST', path: '/order/run', agent,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } },
      response => {
        let text = '';
        response.on('data', part => { text += part; });
        response.on('end', () => (response.statusCode === 200 ? done(text) : failed(new Error(`${response.statusCode} ${text}`))));
      });
    request.on('error', failed);
    request.end(body);
  });
}
