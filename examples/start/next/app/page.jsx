import { redirect } from 'next/navigation';
import { getSession } from '../session.js';
import { Editor } from './editor.jsx';

// Replace these with your own users and hashed passwords.
const passwords = new Map([
  ['ann', 'secret of ann'],
  ['bob', 'secret of bob'],
]);

const logIn = async (form) => {
  'use server';
  const user = form.get('user');
  if (passwords.has(user) && passwords.get(user) === form.get('password')) {
    const session = await getSession();
    session.user = user;
    await session.save();
  }
  redirect('/');
};

export default async function Page() {
  const { user } = await getSession();
  if (user !== undefined) return <Editor url="/connector" />;
  return (
    <form action={logIn}>
      <input name="user" placeholder="Name" required />
      <input name="password" type="password" placeholder="Password" required />
      <button>Log in</button>
    </form>
  );
}
