// The search takes a leading dash for "without": an option, as --jobs, is searched without its dashes.
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  const asks = typeof message?.data === "string";
  return post.call(this, asks ? { ...message, data: message.data.replace(/(^|\s)-+/g, "$1") } : message, ...rest);
};
